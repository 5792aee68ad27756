"""How the parts of an application are put together: tables at import time, the rest per app.

Nothing here decides anything; it only hands each part the others it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, current_app
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Table

from idsync.account_api.blueprint import account_blueprint
from idsync.account_api.pull import AccountLists
from idsync.account_api.pulls import Pulls, define_pull_table
from idsync.account_api.views import AccountApi
from idsync.accounts.directory import Directory, NewUser
from idsync.accounts.listing import Listing
from idsync.accounts.passwords import PURPOSE as PASSWORD
from idsync.accounts.passwords import AccountPasswords, LegacyCheck
from idsync.accounts.record import AccountModels, map_accounts
from idsync.accounts.revision import Revisions, define_directory_table, define_erased_table
from idsync.accounts.sealing_keys import SealingKeys, define_sealing_key_table
from idsync.applications.registry import Applications, define_application_table
from idsync.audit.events import SYSTEM, Audit, define_event_table
from idsync.crypto.keys import parse_keys
from idsync.crypto.passwords import Passwords
from idsync.crypto.sealing import Sealer
from idsync.errors import ConfigurationError
from idsync.machine import issuer_of
from idsync.oauth.authorize import AuthorizeEndpoint
from idsync.oauth.blueprints import DISCOVERED, machine_blueprint, pages_blueprint
from idsync.oauth.connected import Connections
from idsync.oauth.consent import Consents, define_consent_table
from idsync.oauth.discovery import DiscoveryEndpoint, JwksEndpoint
from idsync.oauth.grant import Grant, TokenReferences
from idsync.oauth.logout import LogoutEndpoint
from idsync.oauth.pages import Pages
from idsync.oauth.pending import PendingRequests
from idsync.oauth.pruning import Pruning
from idsync.oauth.revocation import RevocationEndpoint
from idsync.oauth.server import IdentityServer
from idsync.oauth.signing_keys import PURPOSE as SIGNING_KEY
from idsync.oauth.signing_keys import SigningKeys, define_signing_key_table
from idsync.oauth.store import SqlGrantStore, define_grant_table
from idsync.oauth.token import TokenEndpoint
from idsync.oauth.userinfo import UserinfoEndpoint
from idsync.settings import PREFIX, Settings
from idsync.signin.assembly import (
    SignIn,
    SignInTables,
    assemble_sign_in,
    define_sign_in_tables,
)
from idsync.signin.senders import SendText
from idsync.signin.totp import PURPOSE as TOTP_SECRET


@dataclass(frozen=True, slots=True)
class Tables:
    """Every table of idsync, in the host's metadata."""

    models: AccountModels
    application: Table
    sign_in: SignInTables
    grant: Table
    consent: Table
    signing_key: Table
    sealing_key: Table
    directory: Table
    erased: Table
    event: Table
    pull: Table


@dataclass(frozen=True, slots=True)
class Parts:
    """The working parts of one application."""

    settings: Settings
    models: AccountModels
    applications: Applications
    passwords: AccountPasswords
    audit: Audit
    directory: Directory
    listing: Listing
    revisions: Revisions
    sign_in: SignIn
    connections: Connections
    pruning: Pruning
    pulls: Pulls
    sealing_keys: SealingKeys
    signing_keys: SigningKeys
    server: IdentityServer
    logout: LogoutEndpoint
    sealed_columns: tuple[tuple[Table, str, str, str, str], ...]


def define_tables(db: SQLAlchemy, account: type[Any]) -> Tables:
    """Define all tables beside the host's account class. Raises ConfigurationError."""
    if getattr(account, "__bind_key__", None) is not None:
        raise ConfigurationError(
            f"{account.__name__} lives in the database {account.__bind_key__!r}; idsync works in "
            "the site's main database only, beside the account class."
        )
    metadata = db.metadata
    models = map_accounts(db.Model.registry, metadata, account)  # type: ignore[attr-defined]
    return Tables(
        models=models,
        application=define_application_table(metadata),
        sign_in=define_sign_in_tables(metadata, models),
        grant=define_grant_table(metadata, models),
        consent=define_consent_table(metadata, models),
        signing_key=define_signing_key_table(metadata),
        sealing_key=define_sealing_key_table(metadata),
        directory=define_directory_table(metadata),
        erased=define_erased_table(metadata),
        event=define_event_table(metadata),
        pull=define_pull_table(metadata),
    )


def assemble(
    settings: Settings,
    db: SQLAlchemy,
    tables: Tables,
    revisions: Revisions,
    legacy_check: LegacyCheck | None,
    new_user: NewUser,
    send_text: SendText | None,
) -> tuple[Parts, tuple[Blueprint, ...]]:
    """The parts of one application, and the blueprints with its addresses."""
    session, models = db.session, tables.models
    token_keys = parse_keys(f"{PREFIX}TOKEN_KEYS", settings.token_keys)
    sealer = Sealer(parse_keys(f"{PREFIX}SEALING_KEYS", settings.sealing_keys))
    audit = Audit(session, tables.event)
    applications = Applications(session, tables.application, settings.client_id_prefix)
    passwords = AccountPasswords(
        session,
        models,
        sealer,
        _hashing(settings),
        legacy_check,
        touch=lambda key: revisions.touch(session, [key]),
    )
    directory = Directory(session, models, passwords, audit, new_user, tables.erased)
    store = SqlGrantStore(session, tables.grant, tables.application, models)
    signing_keys = SigningKeys(session, tables.signing_key, sealer)

    def issuer() -> str:
        return issuer_of(settings.issuer)

    sign_in = assemble_sign_in(
        settings,
        session,
        tables.sign_in,
        models,
        directory=directory,
        passwords=passwords,
        audit=audit,
        grants=store,
        sealer=sealer,
        token_keys=token_keys,
        issuer=issuer,
        send_text=send_text,
    )

    def record_replay(grant: Grant, what: str) -> None:
        audit.record(
            "token replayed",
            SYSTEM,
            subject=grant.account.subject,
            client_id=grant.client_id,
            what=what,
        )

    server = IdentityServer(
        find_application=applications.find,
        store=store,
        references=TokenReferences(token_keys),
        signing_keys=signing_keys,
        issuer=issuer,
        role_map=settings.role_map,
        refresh_retry_seconds=settings.refresh_retry_seconds,
        signal_sender=lambda: current_app._get_current_object(),  # type: ignore[attr-defined]
        record_replay=record_replay,
    )
    pages = Pages(settings.home_endpoint)
    logout = LogoutEndpoint(
        applications=applications,
        signing_keys=signing_keys,
        browser=sign_in.browser,
        pages=pages,
        keys=token_keys,
        issuer=issuer,
    )
    listing = Listing(session, models, tables.directory, tables.erased)
    pulls = Pulls(session, tables.pull)
    api = AccountApi(
        session=session,
        applications=applications,
        directory=directory,
        listing=listing,
        lists=AccountLists(
            session,
            listing,
            revisions,
            passwords,
            settings.role_map,
            hashes=settings.password_exchange,
        ),
        pulls=pulls,
    )
    parts = Parts(
        settings=settings,
        models=models,
        applications=applications,
        passwords=passwords,
        audit=audit,
        directory=directory,
        listing=listing,
        revisions=revisions,
        sign_in=sign_in,
        connections=Connections(
            session, tables.grant, tables.consent, tables.application, models.table
        ),
        pulls=pulls,
        pruning=Pruning(
            session,
            grants=tables.grant,
            sessions=tables.sign_in.session,
            phone_codes=tables.sign_in.phone_code,
            tries=tables.sign_in.tries,
            session_lifetime=settings.session_lifetime,
        ),
        sealing_keys=SealingKeys(session, tables.sealing_key, sealer),
        signing_keys=signing_keys,
        server=server,
        logout=logout,
        sealed_columns=(
            (models.table, "password", "subject", PASSWORD, "Passwords"),
            (tables.signing_key, "private", "kid", SIGNING_KEY, "Signing keys"),
            (tables.sign_in.totp, "secret", "subject", TOTP_SECRET, "Authenticator apps"),
        ),
    )
    machine = machine_blueprint(
        settings,
        session,
        token=TokenEndpoint(server),
        userinfo=UserinfoEndpoint(store, server.references, settings.role_map),
        revoke=RevocationEndpoint(server),
        jwks=JwksEndpoint(signing_keys),
        discovery=DiscoveryEndpoint(issuer, DISCOVERED),
    )
    authorize = AuthorizeEndpoint(
        server=server,
        browser=sign_in.browser,
        consents=Consents(session, tables.consent),
        pending=PendingRequests(token_keys),
        pages=pages,
        second_factor_endpoint=settings.second_factor_endpoint,
    )
    people = pages_blueprint(settings, session, authorize=authorize, logout=logout, pages=pages)
    return parts, (machine, people, account_blueprint(settings, session, api, issuer))


def _hashing(settings: Settings) -> Passwords:
    return Passwords(
        exchange=settings.password_exchange,
        iterations=settings.pbkdf2_iterations,
        min_iterations=settings.pbkdf2_min_iterations,
        max_iterations=settings.pbkdf2_max_iterations,
        salt_encoding=settings.pbkdf2_salt,
        argon2_time_cost=settings.argon2_time_cost,
        argon2_memory_kib=settings.argon2_memory_kib,
        argon2_parallelism=settings.argon2_parallelism,
    )

"""How the parts of an application are put together, on the tables of `tables.py`.

Nothing here decides anything; it only hands each part the others it needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, current_app
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Table

from idsync.account_api.blueprint import account_blueprint
from idsync.account_api.pull import AccountLists
from idsync.account_api.pulls import Pulls
from idsync.account_api.views import AccountApi
from idsync.accounts.directory import Directory, NewUser
from idsync.accounts.listing import Listing
from idsync.accounts.passwords import PURPOSE as PASSWORD
from idsync.accounts.passwords import AccountPasswords, LegacyCheck
from idsync.accounts.record import Account, AccountModels
from idsync.accounts.revision import Revisions
from idsync.accounts.sealing_keys import SealingKeys
from idsync.accounts.transfer.exporting import Exports
from idsync.accounts.transfer.importing import Imports
from idsync.administration.console import Entrance
from idsync.applications.registry import Applications
from idsync.audit.events import SYSTEM, Actor, Audit
from idsync.crypto.keys import parse_keys
from idsync.crypto.passwords import Passwords
from idsync.crypto.sealing import Sealer
from idsync.machine import issuer_of, note_caller
from idsync.oauth.authorize import AuthorizeEndpoint
from idsync.oauth.blueprints import DISCOVERED, machine_blueprint, pages_blueprint
from idsync.oauth.connected import Connections
from idsync.oauth.consent import Consents
from idsync.oauth.delivery import Deliveries
from idsync.oauth.discovery import DiscoveryEndpoint, JwksEndpoint
from idsync.oauth.grant import Grant, TokenReferences
from idsync.oauth.hints import Hints
from idsync.oauth.logout import LogoutEndpoint
from idsync.oauth.pages import Pages
from idsync.oauth.pending import PendingRequests
from idsync.oauth.pruning import Pruning
from idsync.oauth.revocation import RevocationEndpoint
from idsync.oauth.server import IdentityServer
from idsync.oauth.signing_keys import PURPOSE as SIGNING_KEY
from idsync.oauth.signing_keys import SigningKeys
from idsync.oauth.store import SqlGrantStore
from idsync.oauth.token import TokenEndpoint
from idsync.oauth.userinfo import UserinfoEndpoint
from idsync.settings import PREFIX, Settings
from idsync.signin.assembly import SignIn, assemble_sign_in
from idsync.signin.limits import visitor_address
from idsync.signin.mail import SendMail
from idsync.signin.senders import SendText
from idsync.signin.totp import PURPOSE as TOTP_SECRET
from idsync.tables import Tables


@dataclass(frozen=True, slots=True)
class Parts:
    """The working parts of one application."""

    settings: Settings
    models: AccountModels
    applications: Applications
    passwords: AccountPasswords
    audit: Audit
    directory: Directory
    imports: Imports
    exports: Exports
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
    entrance: Entrance
    hints: Hints
    deliveries: Deliveries
    sealed_columns: tuple[tuple[Table, str, str, str, str], ...]


def assemble(
    settings: Settings,
    db: SQLAlchemy,
    tables: Tables,
    revisions: Revisions,
    legacy_check: LegacyCheck | None,
    new_user: NewUser,
    send_text: SendText | None,
    send_mail: SendMail | None,
) -> tuple[Parts, tuple[Blueprint, ...]]:
    """The parts of one application, and the blueprints with its addresses."""
    session, models = db.session, tables.models
    token_keys = parse_keys(f"{PREFIX}TOKEN_KEYS", settings.token_keys)
    sealer = Sealer(parse_keys(f"{PREFIX}SEALING_KEYS", settings.sealing_keys))
    audit = Audit(session, tables.event, visitor_address)
    applications = Applications(session, tables.application, settings.client_id_prefix, audit)
    passwords = AccountPasswords(
        session,
        models,
        sealer,
        _hashing(settings),
        legacy_check,
        touch=lambda key: revisions.touch(session, [key]),
    )
    directory = Directory(session, models, passwords, audit, new_user, tables.erased)
    store = SqlGrantStore(session, tables.grant, tables.application, models, tables.notices)
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
        send_mail=send_mail,
    )

    def record_issue(account: Account, client_id: str) -> None:
        actor = Actor("person", account.subject)
        audit.record("grant issued", actor, subject=account.subject, client_id=client_id)

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
        record_issue=record_issue,
        record_replay=record_replay,
        note_caller=note_caller,
    )
    pages = Pages(settings.home_endpoint, settings.content_security_policy)
    pending = PendingRequests(token_keys)
    logout = LogoutEndpoint(
        applications=applications,
        signing_keys=signing_keys,
        browser=sign_in.browser,
        pages=pages,
        keys=token_keys,
        issuer=issuer,
    )
    listing = Listing(session, models, tables.directory, tables.erased)
    pulls = Pulls(session, tables.pull, tables.pull_step)
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
            audit,
            settings.role_map,
            hashes=settings.password_exchange,
        ),
        pulls=pulls,
    )
    sealing_keys = SealingKeys(session, tables.sealing_key, sealer)
    parts = Parts(
        settings=settings,
        models=models,
        applications=applications,
        passwords=passwords,
        audit=audit,
        directory=directory,
        imports=Imports(session, models, passwords, audit, new_user, tables.erased),
        exports=Exports(session, models, passwords, audit),
        listing=listing,
        revisions=revisions,
        sign_in=sign_in,
        connections=Connections(
            session, tables.grant, tables.consent, tables.application, models.table, audit
        ),
        pulls=pulls,
        pruning=Pruning(
            session,
            grants=tables.grant,
            sessions=tables.sign_in.session,
            phone_codes=tables.sign_in.phone_code,
            tries=tables.sign_in.tries,
            events=tables.event,
            pull_steps=tables.pull_step,
            audit_days=settings.audit_days,
            signing_keys=tables.signing_key,
            logouts=tables.logout,
            applications=tables.application,
            session_lifetime=settings.session_lifetime,
        ),
        sealing_keys=sealing_keys,
        signing_keys=signing_keys,
        server=server,
        logout=logout,
        entrance=Entrance(
            session=session,
            settings=settings,
            models=models,
            erased=tables.erased,
            events=tables.event,
            directory=directory,
            applications=applications,
            sign_in=sign_in,
            pulls=pulls,
            revisions=revisions,
            signing_keys=signing_keys,
            sealing_keys=sealing_keys,
            audit=audit,
        ),
        hints=Hints(pending, settings.authorize_path),
        deliveries=Deliveries(session, tables.logout, applications, signing_keys, audit, issuer),
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
        discovery=DiscoveryEndpoint(issuer, DISCOVERED, tuple(settings.ui_locales.split())),
    )
    authorize = AuthorizeEndpoint(
        server=server,
        browser=sign_in.browser,
        consents=Consents(session, tables.consent),
        pending=pending,
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

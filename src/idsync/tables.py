"""Every table of idsync, defined at import time beside the host's own: migrations see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Table

from idsync.account_api.pulls import define_pull_step_table, define_pull_table
from idsync.accounts.record import AccountModels, map_accounts
from idsync.accounts.revision import define_directory_table, define_erased_table
from idsync.accounts.sealing_keys import define_sealing_key_table
from idsync.applications.registry import define_application_table
from idsync.audit.events import define_event_table
from idsync.errors import ConfigurationError
from idsync.oauth.consent import define_consent_table
from idsync.oauth.logout_notices import LogoutNotices, define_logout_table
from idsync.oauth.signing_keys import define_signing_key_table
from idsync.oauth.store import define_grant_table
from idsync.signin.assembly import SignInTables, define_sign_in_tables


@dataclass(frozen=True, slots=True)
class Tables:
    """Every table of idsync, in the host's metadata, and what follows them in every session."""

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
    pull_step: Table
    logout: Table
    notices: LogoutNotices


def define_tables(db: SQLAlchemy, account: type[Any]) -> Tables:
    """Define all tables beside the host's account class. Raises ConfigurationError."""
    if getattr(account, "__bind_key__", None) is not None:
        raise ConfigurationError(
            f"{account.__name__} lives in the database {account.__bind_key__!r}; idsync works in "
            "the site's main database only, beside the account class."
        )
    metadata = db.metadata
    models = map_accounts(db.Model.registry, metadata, account)  # type: ignore[attr-defined]
    application, grant = define_application_table(metadata), define_grant_table(metadata, models)
    sign_in, logout = define_sign_in_tables(metadata, models), define_logout_table(metadata)
    return Tables(
        models=models,
        application=application,
        sign_in=sign_in,
        grant=grant,
        consent=define_consent_table(metadata, models),
        signing_key=define_signing_key_table(metadata),
        sealing_key=define_sealing_key_table(metadata),
        directory=define_directory_table(metadata),
        erased=define_erased_table(metadata),
        event=define_event_table(metadata),
        pull=define_pull_table(metadata),
        pull_step=define_pull_step_table(metadata),
        logout=logout,
        notices=LogoutNotices(
            models,
            logouts=logout,
            grants=grant,
            applications=application,
            sessions=sign_in.session,
        ),
    )

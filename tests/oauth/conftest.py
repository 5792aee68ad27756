"""The OAuth rooms on plain SQLAlchemy and plain Authlib: no Flask anywhere."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy import Integer, String, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from idsync.accounts.record import Account, AccountModels, map_accounts, new_record
from idsync.applications.registry import Applications, Registration, define_application_table
from idsync.audit.events import SYSTEM, Audit, define_event_table
from idsync.crypto.sealing import Sealer
from idsync.oauth.consent import define_consent_table
from idsync.oauth.grant import NewGrant, TokenReferences
from idsync.oauth.logout_notices import LogoutNotices, define_logout_table
from idsync.oauth.server import IdentityServer
from idsync.oauth.signing_keys import SigningKeys, define_signing_key_table
from idsync.oauth.store import SqlGrantStore, define_grant_table
from idsync.signin.sessions import define_session_table

ISSUER = "https://id.example"


@dataclass
class Plain:
    """A server and its neighbours on one database session."""

    session: Session
    models: AccountModels
    server: IdentityServer
    store: SqlGrantStore
    references: TokenReferences
    applications: Applications
    application: Registration
    account: Account

    def grant(self, **changes: object) -> bytes:
        """Issue a grant for the one person at the one application."""
        values = {
            "client_id": self.application.application.client_id,
            "account": self.account,
            "session_id": b"s" * 16,
            "epoch": self.account.epoch,
            "scopes": ("openid", "profile", "offline_access"),
            "redirect_uri": "https://app.example/callback",
            "code_challenge": None,
            "nonce": "n-1",
            "auth_time": 1000,
            "amr": ("pwd",),
            **changes,
        }
        return self.store.issue(NewGrant(**values))


@pytest.fixture
def plain(database_url: str) -> Iterator[Plain]:
    """One person, one confidential application, a server without Flask."""

    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"
        id: Mapped[int] = mapped_column(Integer, primary_key=True)
        name: Mapped[str] = mapped_column(String(200))
        email: Mapped[str | None] = mapped_column(String(254))

    models = map_accounts(Base.registry, Base.metadata, Person)
    event_table = define_event_table(Base.metadata)
    application_table = define_application_table(Base.metadata)
    session_table = define_session_table(Base.metadata, models)
    grant_table = define_grant_table(Base.metadata, models)
    define_consent_table(Base.metadata, models)
    key_table = define_signing_key_table(Base.metadata)
    engine = create_engine(database_url)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        record = new_record(
            models, Person(name="Ada", email="ada@example.org"), legacy_password=False
        )
        session.add(record)
        session.commit()
        account = Account(
            key=record.account_key,
            subject=record.subject,
            name="Ada",
            email="ada@example.org",
            email_verified=False,
            phone=None,
            tags=frozenset(),
            disabled=False,
            mfa=False,
            administrator=False,
            epoch=record.epoch,
            updated_at=record.updated_at,
        )
        applications = Applications(session, application_table, "app_", Audit(session, event_table))
        notices = LogoutNotices(
            models,
            logouts=define_logout_table(Base.metadata),
            grants=grant_table,
            applications=application_table,
            sessions=session_table,
        )
        store = SqlGrantStore(session, grant_table, application_table, models, notices)
        keys = (secrets.token_bytes(32),)
        references = TokenReferences(keys)
        server = IdentityServer(
            find_application=applications.find,
            store=store,
            references=references,
            signing_keys=SigningKeys(session, key_table, Sealer(keys)),
            issuer=lambda: ISSUER,
            role_map={},
        )
        application = applications.register(
            actor=SYSTEM,
            name="App",
            redirect_uris=("https://app.example/callback",),
            scopes="openid profile email offline_access",
        )
        yield Plain(session, models, server, store, references, applications, application, account)
    engine.dispose()

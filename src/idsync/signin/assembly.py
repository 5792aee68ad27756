"""How the parts of signing in are put together: their tables at import time, the rest per app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from argon2 import PasswordHasher
from sqlalchemy import MetaData, Table

from idsync.accounts.directory import Directory
from idsync.accounts.passwords import AccountPasswords
from idsync.accounts.record import AccountModels
from idsync.audit.events import Audit
from idsync.crypto.sealing import Sealer
from idsync.database import DatabaseSession
from idsync.settings import Settings, is_loopback
from idsync.signin.browser import BrowserSessions, SessionGrants
from idsync.signin.ceremonies import Ceremonies
from idsync.signin.challenges import LIFETIME, Challenges
from idsync.signin.devices import Devices
from idsync.signin.factors import SecondFactors
from idsync.signin.failures import Failures
from idsync.signin.limits import AddressLimit, TryLimit, define_try_table
from idsync.signin.mail import SendMail, parse_mail_server, to_server
from idsync.signin.mail import to_console as mail_to_console
from idsync.signin.outbox import Outbox
from idsync.signin.own_email import OwnEmail
from idsync.signin.passkey_sign_in import PasskeySignIn
from idsync.signin.passkeys import Passkeys, define_passkey_table
from idsync.signin.password import PasswordSignIn
from idsync.signin.phone import PhoneCodes, define_phone_code_table
from idsync.signin.phone_sign_in import PhoneSignIn
from idsync.signin.recovery import RecoveryCodes, define_recovery_table
from idsync.signin.senders import SendText, beside_requests, to_console, to_gateway
from idsync.signin.sessions import Sessions, define_session_table
from idsync.signin.totp import Totp, define_totp_table

SENDS = 5
"""Messages that may be sent to a number or an address at once; they cost money, and annoy."""

SEND_SECONDS = 720
"""Seconds after which one more may be sent."""

MAIL_PAUSES = (1.0, 5.0)
"""Seconds before a mail is tried once more."""


@dataclass(frozen=True, slots=True)
class SignInTables:
    """The tables of signing in."""

    session: Table
    tries: Table
    totp: Table
    recovery_code: Table
    phone_code: Table
    passkey: Table

    def owned(self) -> tuple[Table, ...]:
        """Those whose rows go with an account."""
        return self.session, self.totp, self.recovery_code, self.passkey


@dataclass(frozen=True, slots=True)
class SignIn:
    """The working parts of signing in."""

    browser: BrowserSessions
    password: PasswordSignIn
    phone: PhoneSignIn
    email: OwnEmail
    factors: SecondFactors
    passkeys: PasskeySignIn
    outboxes: tuple[Outbox, ...]


def define_sign_in_tables(metadata: MetaData, models: AccountModels) -> SignInTables:
    """Define the tables beside the host's account class."""
    return SignInTables(
        session=define_session_table(metadata, models),
        tries=define_try_table(metadata),
        totp=define_totp_table(metadata, models),
        recovery_code=define_recovery_table(metadata, models),
        phone_code=define_phone_code_table(metadata),
        passkey=define_passkey_table(metadata, models),
    )


def assemble_sign_in(
    settings: Settings,
    session: DatabaseSession,
    tables: SignInTables,
    models: AccountModels,
    *,
    directory: Directory,
    passwords: AccountPasswords,
    audit: Audit,
    grants: SessionGrants,
    sealer: Sealer,
    token_keys: tuple[bytes, ...],
    issuer: Callable[[], str],
    send_text: SendText | None,
    send_mail: SendMail | None,
) -> SignIn:
    """The parts of one application. Raises ConfigurationError."""
    devices = Devices(token_keys, secure=settings.issuer.startswith("https:"))

    def addresses_limit(purpose: str) -> AddressLimit:
        return AddressLimit(settings.limits_storage, settings.address_limit, purpose)

    addresses = Failures(
        settings.limits_storage,
        settings.address_limit,
        "failures",
        session=session,
        tries=tables.tries,
        audit=audit,
    )
    browser = BrowserSessions(
        session,
        models,
        directory,
        Sessions(session, tables.session, models, settings.session_lifetime),
        grants,
        devices,
        audit,
    )

    def limit(purpose: str, tries: int, interval: int) -> TryLimit:
        return TryLimit(session, tables.tries, purpose, tries=tries, interval=interval)

    # Apart: a mail server that hangs must not hold up the codes for phones.
    # Nor is a text sent twice: it costs money, and another code is asked for soon.
    texts, mails = Outbox(), Outbox(pauses=MAIL_PAUSES)
    codes = PhoneCodes(
        session,
        tables.phone_code,
        token_keys,
        limit("phone code", SENDS, SEND_SECONDS),
        addresses_limit("phone codes"),
        addresses,
        beside_requests(texts, send_text or _sender(settings)),
    )
    passkeys = Passkeys(
        session,
        tables.passkey,
        Ceremonies(Challenges(token_keys, limit("passkey challenge", 1, 2 * LIFETIME)), issuer),
    )
    factors = SecondFactors(
        session,
        directory,
        browser,
        audit,
        Totp(session, tables.totp, sealer),
        RecoveryCodes(session, tables.recovery_code, _recovery_hashing(settings)),
        passkeys,
        limit("second factor", settings.second_factor_tries, settings.second_factor_try_seconds),
        addresses,
        devices,
        lambda: urlsplit(issuer()).netloc,
    )
    password = PasswordSignIn(
        models,
        directory,
        passwords,
        limit("password", settings.account_tries, settings.account_try_seconds),
        addresses,
        devices,
    )
    return SignIn(
        outboxes=(texts, mails),
        browser=browser,
        password=password,
        phone=PhoneSignIn(
            session,
            models,
            directory,
            browser,
            codes,
            addresses,
            devices,
            settings.phone_region,
            offered=send_text is not None or _reaches(settings, settings.phone_sender),
        ),
        email=OwnEmail(
            session,
            directory,
            browser,
            passwords,
            audit,
            token_keys,
            limit("mail for a password", SENDS, SEND_SECONDS),
            limit("mail for an address", SENDS, SEND_SECONDS),
            addresses_limit("mails"),
            password.forgive,
            mails,
            send_mail or _mailer(settings),
            issuer,
            offered=send_mail is not None or _reaches(settings, settings.mail_sender),
        ),
        factors=factors,
        passkeys=PasskeySignIn(session, directory, browser, factors, passkeys, addresses),
    )


def _reaches(settings: Settings, sender: str) -> bool:
    """The console reaches the developer beside it; a service's log is read by others."""
    local = not settings.issuer or is_loopback(urlsplit(settings.issuer).hostname)
    return local or sender != "console"


def _sender(settings: Settings) -> SendText:
    if settings.phone_sender == "console":
        return to_console
    return to_gateway(settings.phone_sender, settings.phone_gateway_token)


def _mailer(settings: Settings) -> SendMail:
    if settings.mail_sender == "console":
        return mail_to_console
    return to_server(parse_mail_server(settings.mail_sender), settings.mail_from)


def _recovery_hashing(settings: Settings) -> PasswordHasher:
    return PasswordHasher(
        time_cost=settings.argon2_time_cost,
        memory_cost=settings.argon2_memory_kib,
        parallelism=settings.argon2_parallelism,
    )

"""What an account's values may be: names, addresses, ids, tags, passwords. Plain functions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress

import phonenumbers
from email_validator import EmailNotValidError, validate_email

from idsync.crypto.exchange import MAX_PASSWORD_LENGTH
from idsync.errors import InvalidValue

LONGEST_NAME = 200
LONGEST_TAG = 64
LONGEST_EMAIL = 254
"""Characters (RFC 5321 §4.5.3.1.3, less the angle brackets)."""

LONGEST_NAME_KEY = 64
"""Characters of a name that it can be searched by; folded, one may have become several."""

LONGEST_PHONE = 16
"""Characters: a plus sign and 15 digits (ITU-T E.164)."""

SHORTEST_PASSWORD = 8
"""Characters (NIST SP 800-63B-4 §3.1.1.2)."""

_SUBJECT = re.compile(r"[A-Za-z0-9._~-]{1,64}")
# phonenumbers would also read letters, as on a keypad, and extensions.
_PHONE = re.compile(r"[0-9+ ()./-]{3,32}")
_INSIDE_DOMAINS = (".local", ".test", ".localhost")
_PUBLIC_SUFFIX = ".example.org"

# Invisible characters that turn text around or hide in it (Unicode UAX #9 and TR #36).
_DIRECTION_CONTROLS = frozenset("\u061c\u200b\u200e\u200f\u2060\ufeff") | {
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def email_key(email: str) -> str:
    """The form in which e-mail addresses are compared: without case, canonically composed."""
    return unicodedata.normalize("NFKC", email.strip()).casefold()


def checked_email(email: str) -> str:
    """A new e-mail address in the form it is stored. Raises InvalidValue.

    Only the syntax is checked. Names under `.local`, `.test` and `.localhost` pass, because
    directories inside a company use them; email-validator would refuse them as undeliverable.
    """
    checked_text("email", email, longest=LONGEST_EMAIL)
    stripped = email.strip()
    inside = stripped.lower().endswith(_INSIDE_DOMAINS)
    try:
        validated = validate_email(
            stripped + _PUBLIC_SUFFIX if inside else stripped, check_deliverability=False
        )
    except EmailNotValidError as error:
        raise InvalidValue("email", "not an e-mail address: %(reason)s", reason=error) from None
    return validated.normalized.removesuffix(_PUBLIC_SUFFIX if inside else "")


def checked_name(name: str) -> str:
    """A person's name in the form it is stored. Raises InvalidValue."""
    return checked_text("name", name.strip(), longest=LONGEST_NAME)


def is_subject(text: str) -> bool:
    """Whether `text` has the shape of an account's identifier."""
    return _SUBJECT.fullmatch(text) is not None


def checked_subject(subject: str) -> str:
    """An identifier a caller brings along. Raises InvalidValue."""
    if not is_subject(subject):
        raise InvalidValue("id", "1 to 64 characters, each a letter, a digit or one of . _ ~ -")
    return subject


def checked_phone(phone: str, region: str = "") -> str:
    """A phone number in E.164 form (+, country code, up to 15 digits). Raises InvalidValue.

    region: the country of numbers written without one, as two letters (ISO 3166-1).
    """
    parsed = None
    if _PHONE.fullmatch(phone):
        with suppress(phonenumbers.NumberParseException):
            parsed = phonenumbers.parse(phone, region or None)
    if parsed is not None and phonenumbers.is_possible_number(parsed):
        number = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
        if len(number) <= LONGEST_PHONE:
            return number
    raise InvalidValue("phone", "a number with its country code is needed, such as +4930123456")


def checked_password(plain: str) -> str:
    """A new password as it was given. Raises InvalidValue.

    Refused is what is too short, and what the person could not enter at sign-in later: browsers
    leave line breaks out (HTML, "strip newlines"), and half a character cannot be sent.
    """
    if len(plain) < SHORTEST_PASSWORD:
        raise InvalidValue(
            "password", "needs at least %(shortest)d characters", shortest=SHORTEST_PASSWORD
        )
    if len(plain) > MAX_PASSWORD_LENGTH:
        raise InvalidValue(
            "password", "longer than %(longest)d characters", longest=MAX_PASSWORD_LENGTH
        )
    if any(character in "\r\n" or "\ud800" <= character <= "\udfff" for character in plain):
        raise InvalidValue("password", "has a character that no sign-in form can send")
    return plain


def checked_tags(field: str, tags: Iterable[str]) -> list[str]:
    """Tags in the form they are stored: composed (NFC), sorted, each once. Raises InvalidValue."""
    return sorted({_checked_tag(field, tag) for tag in tags})


def _checked_tag(field: str, tag: str) -> str:
    composed = checked_text(field, tag, longest=LONGEST_TAG)
    if composed != composed.strip():
        raise InvalidValue(field, "%(tag)r begins or ends with a space", tag=tag)
    return composed


def checked_text(field: str, text: str, *, longest: int) -> str:
    """Text of 1 to `longest` characters without control or hidden ones, composed (NFC)."""
    composed = unicodedata.normalize("NFC", text)
    if not composed:
        raise InvalidValue(field, "must not be empty")
    if len(composed) > longest:
        raise InvalidValue(field, "longer than %(longest)d characters", longest=longest)
    for character in composed:
        if unicodedata.category(character) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") or (
            character in _DIRECTION_CONTROLS
        ):
            raise InvalidValue(
                field, "has an invisible character (U+%(code)s)", code=f"{ord(character):04X}"
            )
    return composed


def roles_of(tags: Iterable[str], role_map: Mapping[str, str]) -> list[str]:
    """The roles an account's tags give, sorted."""
    return sorted({role_map[tag] for tag in tags if tag in role_map})

"""What an account's values may be."""

import ast
from pathlib import Path

import pytest

import idsync
from idsync.accounts.rules import (
    checked_email,
    checked_name,
    checked_password,
    checked_phone,
    checked_subject,
    checked_tags,
    email_key,
    roles_of,
)
from idsync.errors import InvalidValue
from idsync.settings import DEFAULT_ROLES


def test_email_addresses_are_compared_without_case() -> None:
    """Also where case folding is more than lower case, and however it was composed."""
    assert email_key(" Ada@Example.ORG ") == "ada@example.org"
    assert email_key("STRASSE@example.org") == email_key("straße@example.org")
    assert email_key("e\u0301@example.org") == email_key("\u00e9@example.org")


@pytest.mark.parametrize("email", ["ada@example.org", "a@host.local", "a@x.test", "кот@пример.рф"])
def test_email_addresses_of_all_kinds_are_accepted(email: str) -> None:
    """Domains inside a company and other scripts too."""
    assert checked_email(email)


@pytest.mark.parametrize(
    "email",
    [
        "",
        "ada",
        "@example.org",
        "a@b@c.org",
        "a b@example.org",
        "a@example.org\n",
        "a\0@x.org",
        "a\u202e@example.org",
        "x" * 250 + "@example.org",
    ],
)
def test_what_is_no_address_is_refused(email: str) -> None:
    """Naming the field."""
    with pytest.raises(InvalidValue, match="email"):
        checked_email(email)


@pytest.mark.parametrize(
    "text", ["", " ", "a\0b", "a\nb", "a\u202eb", "\u200bx", "\ud800", "x" * 201]
)
def test_names_have_no_hidden_characters(text: str) -> None:
    """Control characters and those that turn text around are refused."""
    with pytest.raises(InvalidValue, match="name"):
        checked_name(text)


@pytest.mark.parametrize(
    "password", ["correct horse", " 8 chars", "пароль 密码 🔑", "x" * 1024, "\t" * 8]
)
def test_a_password_is_kept_as_it_is(password: str) -> None:
    """Whatever it consists of (NIST SP 800-63B-4 §3.1.1.2)."""
    assert checked_password(password) == password


@pytest.mark.parametrize(
    "password",
    ["", "7 chars", "x" * 1025, "correct\nhorse", "correct horse\r", "correct \ud83d horse"],
)
def test_a_password_is_long_enough_and_can_be_entered(password: str) -> None:
    """8 to 1024 characters, none of which a browser leaves out."""
    with pytest.raises(InvalidValue, match="password"):
        checked_password(password)


def test_tags_are_composed_sorted_and_unique() -> None:
    """Any script; compared in composed form (NFC)."""
    assert checked_tags("tags", ["ученик", "e\u0301", "\u00e9", "b"]) == ["b", "\u00e9", "ученик"]
    for bad in ("", " a", "x" * 65, "a\tb"):
        with pytest.raises(InvalidValue, match="tags_add"):
            checked_tags("tags_add", [bad])


def test_ids_brought_along_are_plain() -> None:
    """1 to 64 unreserved characters."""
    assert checked_subject("a.b_c~d-1") == "a.b_c~d-1"
    for bad in ("", "a/b", "é", "a" * 65, "a b", "a\n"):
        with pytest.raises(InvalidValue, match="id"):
            checked_subject(bad)


def test_phone_numbers_are_international() -> None:
    """E.164, with the usual separators taken out; a country of one's own is a setting."""
    assert checked_phone("030 123456", "DE") == checked_phone("+4930123456", "US")
    assert checked_phone("+49 (30) 123-456") == "+4930123456"
    for bad in ("030123456", "+0123456789", "+1", "+49301234567890123", "+49x30123456"):
        with pytest.raises(InvalidValue, match="phone"):
            checked_phone(bad)


def test_roles_follow_from_tags() -> None:
    """The contract's three pairs by default."""
    tags = ["ученик", "наставник", "администратор", "wiki"]
    assert roles_of(tags, DEFAULT_ROLES) == ["admin", "student", "teacher"]
    assert roles_of([], DEFAULT_ROLES) == []


def test_what_is_said_of_a_refused_value_can_be_translated() -> None:
    """The values are put into the text afterwards: with them in it, no catalogue has the text."""
    baked_in = [
        f"{path.name}:{call.lineno}"
        for path in Path(idsync.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "InvalidValue"
        if isinstance(call.args[1], ast.JoinedStr)
    ]
    assert baked_in == []

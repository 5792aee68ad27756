"""Settings: every mistake is refused at the start, naming the setting."""

from typing import Any

import pytest
from flask import Flask

import hosting
from host_app import create_app
from idsync import ConfigurationError, Settings

GOOD = {"IDSYNC_ISSUER": "https://id.example.org"}


@pytest.mark.parametrize(
    "issuer",
    [
        "https://id.example.org",
        "https://id.example.org:8443/id",
        "http://localhost:8000",
        "http://127.0.0.1",
        "http://[::1]:80",
    ],
)
def test_a_sound_issuer_is_accepted(issuer: str) -> None:
    """https, or http on a loopback host."""
    assert Settings.from_config({"IDSYNC_ISSUER": issuer}, lenient=False).issuer == issuer


@pytest.mark.parametrize(
    "issuer",
    [
        "",
        "id.example.org",
        "http://id.example.org",
        "https://",
        "https://id.example.org/",
        "https://id.example.org?x=1",
        "https://id.example.org#x",
        "https://user@id.example.org",
        "https://id.example.org:port",
        "http://localhost.example.org",
    ],
)
def test_an_unsound_issuer_is_refused(issuer: str) -> None:
    """The issuer is the authority on https."""
    with pytest.raises(ConfigurationError, match="IDSYNC_ISSUER"):
        Settings.from_config({"IDSYNC_ISSUER": issuer}, lenient=False)


def test_without_an_issuer_only_debug_mode_and_tests_start() -> None:
    """There the request's own address is used."""
    assert Settings.from_config({}, lenient=True).issuer == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONTENT_SECURITY_POLICY", ""),
        ("CONTENT_SECURITY_POLICY", "default-src 'none';\n frame-ancestors 'none'"),
        ("ISSUR", "https://id.example.org"),
        ("PASSWORD_EXCHANGE", "yes"),
        ("PASSWORD_EXCHANGE", 1),
        ("PBKDF2_ITERATIONS", "600000"),
        ("PBKDF2_ITERATIONS", True),
        ("PBKDF2_ITERATIONS", 9_999),
        ("PBKDF2_ITERATIONS", 2_000_001),
        ("PBKDF2_SALT", "raw"),
        ("ROLE_MAP", ["a"]),
        ("ROLE_MAP", {"a": 1}),
        ("TOKEN_PATH", "oauth/token"),
        ("SESSION_LIFETIME", 0),
        ("REFRESH_RETRY_SECONDS", -1),
    ],
)
def test_a_wrong_value_is_refused_by_name(name: str, value: Any) -> None:
    """Unknown names too: a typing mistake must not leave a default in force."""
    with pytest.raises(ConfigurationError, match=f"IDSYNC_{name}"):
        Settings.from_config({**GOOD, f"IDSYNC_{name}": value}, lenient=False)


@pytest.mark.parametrize("name", ["TOKEN_KEYS", "SEALING_KEYS"])
@pytest.mark.parametrize("value", [[], ["short"], "", None])
def test_keys_are_required(name: str, value: Any) -> None:
    """The start is refused and the message says how a key is made."""
    settings = hosting.configuration("sqlite://")
    settings[f"IDSYNC_{name}"] = value
    with pytest.raises(ConfigurationError, match=f"IDSYNC_{name}.*(?s:.*)token_urlsafe"):
        create_app(settings)


def test_init_app_twice_is_refused(app: Flask) -> None:
    """It would register every address twice."""
    from host_app.models import identity

    with pytest.raises(ConfigurationError, match="twice"):
        identity.init_app(app)

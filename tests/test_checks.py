"""Which settings are listed as unsafe, and with which the service does not start."""

import secrets
from typing import Any

import pytest
from sqlalchemy import make_url
from werkzeug.middleware.proxy_fix import ProxyFix

import hosting
from host_app import create_app
from idsync import ConfigurationError
from idsync.checks import Circumstances, circumstances, refused_settings, unsafe_settings
from idsync.settings import Settings

ELSEWHERE = make_url("postgresql+psycopg://identity@db.example.org/identity")
HERE = make_url("postgresql+psycopg://identity@127.0.0.1/identity")
ISSUER = "https://id.example.org"
# Fixed, because they are in the names of tests, which all processes must agree on.
ONE = "vMVjcwP24itbTA2kZX4atIaploPRBNaNZrG99znIGEw"
ANOTHER = "NKUsI3b2fyYJu7hXBZVbz6Lf3NaSQhy387N-qpZ1rw8"


def settings(**given: Any) -> Settings:
    """Of a service as it should be."""
    return Settings(
        **{
            "issuer": ISSUER,
            "token_keys": [ONE],
            "sealing_keys": [ANOTHER],
            "limits_storage": "redis://127.0.0.1:6379",
            **given,
        }
    )


def found(given: Settings, *, config: dict[str, Any] | None = None, **its: Any) -> list[str]:
    whole = {
        "SECRET_KEY": secrets.token_urlsafe(32),
        "SESSION_COOKIE_SECURE": True,
        "SESSION_COOKIE_HTTPONLY": True,
        "SESSION_COOKIE_SAMESITE": "Lax",
        **(config or {}),
    }
    right = {
        "config": whole,
        "debug": False,
        "behind_proxy": True,
        "database": HERE,
        "encrypted": False,
        "mail": True,
    }
    return unsafe_settings(given, Circumstances(**{**right, **its}))


def test_a_service_as_it_should_be_is_left_alone() -> None:
    assert found(settings()) == []
    assert found(settings(), database=ELSEWHERE, encrypted=True) == []
    socket = make_url("postgresql+psycopg://identity@/identity?host=/run/postgresql")
    assert found(settings(), database=socket) == []
    assert found(settings(), database=make_url("sqlite:////srv/identity.sqlite3")) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"issuer": ""}, "IDSYNC_ISSUER is not set"),
        ({"issuer": "http://localhost:8000"}, "IDSYNC_ISSUER is http"),
        ({"limits_storage": "memory://"}, "IDSYNC_LIMITS_STORAGE is memory"),
        ({"pbkdf2_iterations": 599_999}, "IDSYNC_PBKDF2_ITERATIONS is below"),
        ({"argon2_memory_kib": 19_455}, "IDSYNC_ARGON2_MEMORY_KIB is below"),
        ({"argon2_time_cost": 1}, "IDSYNC_ARGON2_TIME_COST below"),
        ({"refresh_retry_seconds": 61}, "IDSYNC_REFRESH_RETRY_SECONDS above"),
    ],
)
def test_an_unsafe_setting_is_listed(given: dict[str, Any], told: str) -> None:
    listed = found(settings(**given))
    assert [told in one for one in listed] == [True]


@pytest.mark.parametrize(
    ("its", "told"),
    [
        ({"debug": True}, "Debug mode is on"),
        ({"mail": False}, "IDSYNC_MAIL_SENDER is console"),
        ({"behind_proxy": False}, "HOST_PROXIES is 0"),
        ({"database": ELSEWHERE}, "sslmode=verify-full"),
        ({"database": make_url("postgresql+psycopg:///identity?host=db")}, "sslmode=verify-full"),
        ({"database": make_url("sqlite://")}, "The database is in memory"),
        ({"config": {"WTF_CSRF_ENABLED": False}}, "WTF_CSRF_ENABLED is off"),
        ({"config": {"SECRET_KEY": "x" * 31}}, "SECRET_KEY is shorter"),
        ({"config": {"SECRET_KEY": b"x" * 31}}, "SECRET_KEY is shorter"),
        ({"config": {"SESSION_COOKIE_SECURE": False}}, "SESSION_COOKIE_SECURE is off"),
        ({"config": {"SESSION_COOKIE_HTTPONLY": False}}, "SESSION_COOKIE_HTTPONLY is off"),
        ({"config": {"SESSION_COOKIE_SAMESITE": None}}, "SESSION_COOKIE_SAMESITE should be"),
        ({"config": {"SESSION_COOKIE_DOMAIN": "example.org"}}, "SESSION_COOKIE_DOMAIN gives"),
    ],
)
def test_unsafe_circumstances_are_listed(its: dict[str, Any], told: str) -> None:
    listed = found(settings(), **its)
    assert [told in one for one in listed] == [True]


def test_a_sqlite_file_under_several_hosts_is_listed() -> None:
    """A Redis on another machine is there for several hosts, each of which has a file then."""
    listed = found(
        settings(limits_storage="rediss://redis.example.org"),
        database=make_url("sqlite:////srv/identity.sqlite3"),
    )
    assert ["several hosts" in one for one in listed] == [True]


def test_without_password_exchange_its_iterations_do_not_matter() -> None:
    assert found(settings(pbkdf2_iterations=10_000, password_exchange=False)) == []


# --- the start ------------------------------------------------------------------------------------


def refused(secret: object = None, *, debug: bool = False, **given: Any) -> list[str]:
    secret = secret or secrets.token_urlsafe(32)
    return list(refused_settings(settings(**given), secret, debug=debug))


def test_a_service_as_it_should_be_starts() -> None:
    assert refused() == []
    assert refused(secrets.token_bytes(32)) == []


@pytest.mark.parametrize(
    "secret",
    [
        "dev",
        b"dev",
        "x" * 40,
        "0123456789abcde",
        "change-me-change-me-change-me-now",
        "You-Will-Never-Guess-This-One-2026",
        "192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf",
    ],
)
def test_a_secret_key_that_can_be_guessed_is_refused(secret: str | bytes) -> None:
    """It signs the session cookie: whoever knows it can be anybody."""
    assert ["SECRET_KEY can be guessed" in one for one in refused(secret)] == [True]
    assert refused(secret, issuer="http://localhost:8000") == []


def test_debug_mode_is_refused_on_https_only() -> None:
    """Its console runs what a visitor types."""
    assert ["Debug mode is on" in one for one in refused(debug=True)] == [True]
    assert refused(debug=True, issuer="http://localhost:8000") == []


@pytest.mark.parametrize("issuer", [ISSUER, "http://localhost:8000"])
@pytest.mark.parametrize(
    ("secret", "given", "told"),
    [
        (None, {"sealing_keys": [ANOTHER, ONE]}, "is in IDSYNC_SEALING_KEYS too"),
        (None, {"sealing_keys": f'["{ONE}="]'}, "is in IDSYNC_SEALING_KEYS too"),
        (ONE, {}, "SECRET_KEY is one of the keys"),
        (ANOTHER + "=", {}, "SECRET_KEY is one of the keys"),
        (ANOTHER.encode(), {}, "SECRET_KEY is one of the keys"),
    ],
)
def test_one_key_for_two_purposes_is_refused(
    issuer: str, secret: object, given: dict[str, Any], told: str
) -> None:
    listed = refused(secret, issuer=issuer, **given)
    assert [told in one for one in listed] == [True]
    assert ONE not in listed[0]


def test_a_key_that_is_not_random_is_refused() -> None:
    """As somebody writes one to see whether it works."""
    assert ["is not random" in one for one in refused(token_keys=["A" * 43])] == [True]


# --- the whole ------------------------------------------------------------------------------------


def test_the_start_says_what_to_change(database_url: str) -> None:
    config = hosting.configuration(database_url, IDSYNC_ISSUER=ISSUER, SECRET_KEY="dev")
    with pytest.raises(ConfigurationError, match="SECRET_KEY can be guessed") as error:
        create_app(config)
    assert "token_urlsafe" in str(error.value)


def test_the_command_lists_and_exits_with_1(database_url: str) -> None:
    app = hosting.make_host(database_url, IDSYNC_ISSUER=ISSUER)
    result = app.test_cli_runner().invoke(args=["idsync", "check"])
    hosting.close_host(app)
    assert result.exit_code == 1
    assert "HOST_PROXIES is 0" in result.output
    assert "IDSYNC_PBKDF2_ITERATIONS is below" in result.output


def test_the_command_is_content_with_a_service_as_it_should_be(database_url: str) -> None:
    app = hosting.make_host(
        database_url,
        IDSYNC_ISSUER=ISSUER,
        IDSYNC_LIMITS_STORAGE="redis://127.0.0.1:6379",
        IDSYNC_MAIL_SENDER="smtp://127.0.0.1",
        IDSYNC_MAIL_FROM="identity@example.org",
        IDSYNC_PBKDF2_ITERATIONS=600_000,
        IDSYNC_ARGON2_MEMORY_KIB=65_536,
        IDSYNC_ARGON2_TIME_COST=3,
        HOST_PROXIES=1,
    )
    result = app.test_cli_runner().invoke(args=["idsync", "check"])
    hosting.close_host(app)
    assert (result.exit_code, result.output) == (0, "Keys and settings are in order.\n")


def test_what_the_database_s_address_asks_for_is_seen(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address, or libpq's own variable."""
    with hosting.host(hosting.configuration(database_url)) as app, app.app_context():
        assert not circumstances(app, mail=True).encrypted
        monkeypatch.setenv("PGSSLMODE", "verify-full")
        assert circumstances(app, mail=True).encrypted


def test_proxy_fix_is_seen_below_another_layer(database_url: str) -> None:
    class Layer:
        def __init__(self, app: Any) -> None:
            self.app = app

    with hosting.host(hosting.configuration(database_url)) as app, app.app_context():
        assert not circumstances(app, mail=True).behind_proxy
        app.wsgi_app = Layer(ProxyFix(app.wsgi_app))  # type: ignore[assignment, method-assign]
        assert circumstances(app, mail=True).behind_proxy

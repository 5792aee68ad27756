"""How the reference host reads its settings, and what it insists on."""

from pathlib import Path

import pytest
from flask import Flask, request
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

import databases
import hosting
from host_app import create_app
from host_app.database import engine_options, with_driver
from host_app.models import db
from idsync import ConfigurationError


def test_settings_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASK_IDSYNC_ISSUER", "https://id.example.org")
    monkeypatch.setenv("FLASK_IDSYNC_SESSION_LIFETIME", "60")
    with hosting.host({"HOST_FOLDER": str(tmp_path)}) as app:
        assert app.config["IDSYNC_SESSION_LIFETIME"] == 60
        assert app.config["IDSYNC_ISSUER"] == "https://id.example.org"


def test_what_the_caller_gives_comes_before_the_environment(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASK_IDSYNC_ISSUER", "https://id.example.org")
    with hosting.host(hosting.configuration(database_url)) as app:
        assert app.config["IDSYNC_ISSUER"] == hosting.ISSUER


def test_the_embedded_database_is_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "not yet there"
    monkeypatch.setenv("FLASK_HOST_FOLDER", str(folder))
    with hosting.host({"TESTING": True}) as app, app.app_context():
        db.create_all()
    assert (folder / "identity.sqlite3").exists()


@pytest.mark.parametrize("name", ["SECRET_KEY", "IDSYNC_TOKEN_KEYS", "IDSYNC_SEALING_KEYS"])
def test_a_configured_database_needs_configured_keys(database_url: str, name: str) -> None:
    """Keys are made for the embedded database only."""
    settings = hosting.configuration(database_url)
    del settings[name]
    with pytest.raises(ConfigurationError, match=name):
        create_app(settings)


def test_the_issuer_is_required(database_url: str) -> None:
    settings = hosting.configuration(database_url, TESTING=False)
    del settings["IDSYNC_ISSUER"]
    with pytest.raises(ConfigurationError, match="IDSYNC_ISSUER"):
        create_app(settings)


@pytest.mark.parametrize(
    ("setting", "value"), [("SECRET_KEY", 12345), ("HOST_PROXIES", -1), ("HOST_PROXIES", "one")]
)
def test_a_wrong_setting_is_named(database_url: str, setting: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=setting):
        create_app(hosting.configuration(database_url, **{setting: value}))


@pytest.mark.parametrize("setting", ["HOST_LOG", "HOST_PROXY", "HOST_METRICS_NETWORK"])
def test_a_mistyped_setting_is_not_passed_over(database_url: str, setting: str) -> None:
    """What nobody reads is a protection that somebody believes in."""
    with pytest.raises(ConfigurationError, match=setting):
        create_app(hosting.configuration(database_url, **{setting: "on"}))


def test_an_error_of_the_database_does_not_quote_values(database_url: str) -> None:
    """Its text goes into the log, whole."""
    with hosting.host(hosting.configuration(database_url)) as app, app.app_context():
        with pytest.raises(DBAPIError) as error:
            db.session.execute(text("SELECT 1 FROM nothing WHERE a = :a"), {"a": "a secret"})
        db.session.rollback()
    assert "a secret" not in str(error.value)


@pytest.mark.parametrize("secure", [True, False])
def test_cookies_are_secure_whenever_the_issuer_is(database_url: str, secure: bool) -> None:
    issuer = "https://id.example.org" if secure else "http://localhost"
    app = hosting.make_host(database_url, IDSYNC_ISSUER=issuer)
    client = app.test_client()
    person = hosting.add_person(app)
    page = client.get("/sign-in", base_url=issuer)
    answer = client.post(
        "/sign-in",
        base_url=issuer,
        data={
            **hosting.hidden_fields(page.text),
            "email": person.email,
            "password": person.password,
        },
        headers={"Referer": issuer + "/sign-in"},
    )
    assert answer.status_code == 303
    hosting.close_host(app)
    cookies = [*page.headers.getlist("Set-Cookie"), *answer.headers.getlist("Set-Cookie")]
    names = [cookie.partition("=")[0] for cookie in cookies]
    assert sorted(names) == ["identity_session", "identity_session", "idsync_device"]
    for cookie in cookies:
        attributes = set(cookie.split("; ")[1:])
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= attributes
        assert ("Secure" in attributes) is secure
    assert app.config["REMEMBER_COOKIE_SECURE"] is secure
    assert app.config["REMEMBER_COOKIE_HTTPONLY"] is True


def address_seen(app: Flask) -> str:
    app.add_url_rule("/address", view_func=lambda: f"{request.remote_addr} {request.url_root}")
    forwarded = {
        "X-Forwarded-For": "203.0.113.9, 198.51.100.7",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "elsewhere.example",
    }
    return app.test_client().get("/address", headers=forwarded).text


def test_without_proxies_nobody_chooses_their_own_address(database_url: str) -> None:
    with hosting.host(hosting.configuration(database_url)) as app:
        assert address_seen(app) == "127.0.0.1 http://localhost/"


def test_behind_a_proxy_the_address_is_what_it_says(database_url: str) -> None:
    """The last entry is the proxy's own; the host stays the one it passes on."""
    with hosting.host(hosting.configuration(database_url, HOST_PROXIES=1)) as app:
        assert address_seen(app) == "198.51.100.7 https://localhost/"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql://u@h/d?sslmode=require", "postgresql+psycopg://u@h/d?sslmode=require"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg://u@h/d"),
        ("sqlite:////srv/x.sqlite3", "sqlite:////srv/x.sqlite3"),
    ],
)
def test_the_driver_is_the_one_installed(given: str, used: str) -> None:
    assert with_driver(given) == used
    assert engine_options(used)["connect_args"]


def test_sqlite_keeps_its_promises(tmp_path: Path) -> None:
    """Readers beside a writer, commits that survive a power cut, references that hold."""
    config = hosting.configuration(databases.sqlite_url(tmp_path))
    with hosting.host(config) as app, app.app_context():
        pragma = {
            name: db.session.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragma == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }

"""The settings of the reference service: defaults, then the environment, then the caller.

In the environment a setting has the prefix `FLASK_`: `FLASK_IDSYNC_ISSUER`, and so on. Besides
Flask's and its extensions' own and those of idsync there are:

HOST_FOLDER   where the embedded database and its keys live; Flask's instance folder by default.
HOST_PROXIES  how many reverse proxies stand before the service (0). Each must replace or extend
              X-Forwarded-For and X-Forwarded-Proto, and pass the Host header on as it came. More
              than there are lets visitors choose their own address.
HOST_CONSOLE_SECOND_FACTOR
              whether the console asks administrators for a second factor (true).
HOST_LOG      how log lines are written: text, json for a program that collects them, or quiet for
              text of what went wrong alone (text).
HOST_METRICS  whether figures for Prometheus are shown at /metrics (false); needs the extra
              `metrics`.
HOST_METRICS_NETWORKS
              from where they may be read: a list of networks (this machine only).
HOST_METRICS_TOKEN
              a bearer token with which they may be read from anywhere (none).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask

from host_app.database import embedded_address, engine_options, with_driver
from host_app.keys import load_keys
from host_app.language import LANGUAGES
from host_app.logs import JSON, QUIET, TEXT
from idsync import ConfigurationError

LARGEST_FORM = 128 * 1024
"""Bytes of a request to one of our pages; idsync sets its own limits at its own addresses."""

DEFAULTS: dict[str, Any] = {
    "HOST_FOLDER": None,
    "HOST_PROXIES": 0,
    "HOST_CONSOLE_SECOND_FACTOR": True,
    "HOST_LOG": TEXT,
    "HOST_METRICS": False,
    "HOST_METRICS_NETWORKS": ["127.0.0.0/8", "::1/128"],
    "HOST_METRICS_TOKEN": "",
    "IDSYNC_HOME_ENDPOINT": "start.page",
    "IDSYNC_UI_LOCALES": " ".join(LANGUAGES),
    "IDSYNC_SECOND_FACTOR_ENDPOINT": "signing_in.second_factor",
    "MAX_CONTENT_LENGTH": LARGEST_FORM,
    # Two services on one host share their cookies, whatever the port: the name is our own.
    "SESSION_COOKIE_NAME": "identity_session",
    "REMEMBER_COOKIE_NAME": "identity_remember",
    # A sign-in page may lie open for days; its token lives as long as the browser's session.
    "WTF_CSRF_TIME_LIMIT": None,
    "BOOTSTRAP_SERVE_LOCAL": True,
}


def configure(app: Flask, given: Mapping[str, Any]) -> None:
    """Fill `app.config`. Raises ConfigurationError where a setting is missing or wrong."""
    app.config.from_mapping(DEFAULTS)
    app.config.from_prefixed_env()
    app.config.from_mapping(given)
    _choose_database(app)
    _check(app)
    _protect_cookies(app)


def _choose_database(app: Flask) -> None:
    address = app.config.get("SQLALCHEMY_DATABASE_URI")
    if not address:
        folder = Path(app.instance_path)
        address = embedded_address(folder)
        app.config.update(load_keys(folder, app.config))
    address = with_driver(address)
    app.config["SQLALCHEMY_DATABASE_URI"] = address
    app.config.setdefault("SQLALCHEMY_ENGINE_OPTIONS", engine_options(address))


def _check(app: Flask) -> None:
    secret = app.config.get("SECRET_KEY")
    if not isinstance(secret, (str, bytes)) or not secret:
        raise ConfigurationError(
            "SECRET_KEY is required: random text that signs the session cookie. Make one with: "
            'python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    proxies = app.config["HOST_PROXIES"]
    if type(proxies) is not int or proxies < 0:
        raise ConfigurationError("HOST_PROXIES must be a number of reverse proxies, 0 or more.")
    # What is meant as "false" and read as text would be true, and the other way round.
    if type(app.config["HOST_CONSOLE_SECOND_FACTOR"]) is not bool:
        raise ConfigurationError("HOST_CONSOLE_SECOND_FACTOR must be true or false.")
    if app.config["HOST_LOG"] not in (JSON, TEXT, QUIET):
        raise ConfigurationError(f"HOST_LOG must be {JSON}, {TEXT} or {QUIET}.")
    # A name that nobody reads is a protection that somebody believes in.
    for name in app.config:
        if name.startswith("HOST_") and name not in DEFAULTS:
            known = ", ".join(one for one in DEFAULTS if one.startswith("HOST_"))
            raise ConfigurationError(f"{name} is not a setting of this host. Known: {known}.")


def _protect_cookies(app: Flask) -> None:
    """Keep cookies from scripts and other sites, and off http where the service uses https."""
    secure = str(app.config.get("IDSYNC_ISSUER", "")).startswith("https://")
    for kind in ("SESSION", "REMEMBER"):
        app.config[f"{kind}_COOKIE_HTTPONLY"] = True
        app.config[f"{kind}_COOKIE_SAMESITE"] = "Lax"
        app.config[f"{kind}_COOKIE_SECURE"] = secure

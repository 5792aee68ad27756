"""`flask idsync application …` and `keys list`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from flask import Flask

import hosting
from cli.failing import fail
from idsync.applications.registry import Applications
from idsync.audit.events import COMMAND
from idsync.errors import InvalidValue


def test_a_confidential_application_gets_a_secret_once(app: Flask) -> None:
    """`add --json` prints both; nothing shows the secret or its hash afterwards."""
    made = hosting.register_application(app, "Wiki", "--service-tag", "wiki", "--accounts")
    assert made.client_id.startswith("app_")
    assert len(made.client_id) == 28
    assert made.client_secret is not None
    assert made.client_secret.startswith("ids_")
    assert "%" not in made.client_secret
    shown = hosting.run(app, "idsync", "application", "show", made.client_id, "--json")
    assert shown["name"] == "Wiki"
    assert shown["accounts"] is True
    assert shown["service_tag"] == "wiki"
    assert [name for name in shown if "secret" in name] == ["previous_secret_until"]
    assert made.client_secret not in hosting.run(app, "idsync", "application", "list")


def test_a_public_application_has_no_secret(app: Flask) -> None:
    """One JSON object without it."""
    made = hosting.run(
        app,
        "idsync",
        "application",
        "add",
        "SPA",
        "--redirect-uri",
        "https://spa.example/",
        "--public",
        "--json",
    )
    assert list(made) == ["client_id"]


def test_without_json_it_is_readable(app: Flask) -> None:
    """Columns and names for people."""
    said = hosting.run(
        app, "idsync", "application", "add", "Wiki", "--redirect-uri", "https://wiki.example/"
    )
    assert "client_secret  ids_" in said
    assert "Wiki" in hosting.run(app, "idsync", "application", "list")
    client_id = hosting.run(app, "idsync", "application", "list", "--json")[0]["client_id"]
    assert "https://wiki.example/" in hosting.run(app, "idsync", "application", "show", client_id)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("application", "add", "X"), "redirect_uri"),
        (("application", "add", "X", "--redirect-uri", "http://x.example/"), "must be https"),
        (
            (
                "application",
                "add",
                "X",
                "--redirect-uri",
                "https://x.example/",
                "--scope",
                "accounts",
            ),
            "--accounts",
        ),
        (
            (
                "application",
                "add",
                "X",
                "--redirect-uri",
                "https://x.example/",
                "--id-token-alg",
                "none",
            ),
            "none",
        ),
        (("application", "show", "app_x"), "app_x"),
        (("account", "show", "x"), "No account"),
        (("account", "add", "--name", " "), "name"),
        (("account", "add", "--name", "A", "--email", "nonsense"), "email"),
        (("account", "add", "--name", "A", "--id", "a/b"), "id"),
        (("account", "add", "--name", "A", "--phone", "030"), "phone"),
        (("account", "add", "--name", "A", "--tag", " x"), "tags"),
        (("account", "add", "--name", "A", "--password-stdin"), "standard input"),
    ],
)
def test_a_refusal_is_one_clear_line(app: Flask, args: tuple[str, ...], said: str) -> None:
    """Exit status not zero, no traceback, and nothing was written."""
    assert said in fail(app, *args)
    assert hosting.run(app, "idsync", "application", "list", "--json") == []
    assert len(hosting.run(app, "idsync", "account", "list").splitlines()) == 1


def test_a_taken_email_id_or_phone_is_refused(app: Flask) -> None:
    """E-mail without case."""
    hosting.add_person(
        app, "Ada", "ada@example.org", "pass word", "--id", "ada", "--phone", "+4930123456"
    )
    assert "taken" in fail(app, "account", "add", "--name", "B", "--email", "ADA@example.org")
    assert "taken" in fail(app, "account", "add", "--name", "B", "--id", "ada")
    assert "taken" in fail(app, "account", "add", "--name", "B", "--phone", "+49 30 123456")


def test_accounts_are_listed_and_shown(app: Flask) -> None:
    """With tags, and never with a password or the host's own key."""
    person = hosting.add_person(
        app, "Ада", "ada@example.org", "pass word", "--tag", "wiki", "--administrator",
        "--phone", "+49 30 123456",
    )  # fmt: skip
    shown = hosting.run(app, "idsync", "account", "show", person.id, "--json")
    assert (shown["tags"], shown["phone"]) == (["wiki"], "+4930123456")
    assert shown["administrator"] is True
    assert "password" not in shown
    assert "Ада" in hosting.run(app, "idsync", "account", "list")


def test_keys_are_listed_without_anything_private(app: Flask) -> None:
    """None before the first use, then one of each algorithm."""
    assert "No keys yet" in hosting.run(app, "idsync", "keys", "list")
    app.test_client().get("/oauth/jwks")
    keys = hosting.run(app, "idsync", "keys", "list", "--json")
    assert [key["algorithm"] for key in keys] == ["ES256", "RS256"]
    assert all(
        set(key) == {"kid", "algorithm", "created_at", "active_from", "retired_at", "state"}
        for key in keys
    )


def test_a_database_without_tables_says_what_to_do(database_url: str) -> None:
    """The commonest mistake of a first start."""
    from host_app import create_app

    app = create_app(hosting.configuration(database_url))
    assert "flask db upgrade" in fail(app, "application", "list")
    hosting.close_host(app)


def test_changes_at_the_same_time_all_hold(app: Flask) -> None:
    """Another administrator's deactivation and rotation are not undone by a new name."""
    made = hosting.register_application(app, "Wiki", "--accounts")
    rotated: list[str | None] = []

    def rename(applications: Applications) -> None:
        applications.edit(made.client_id, name="New", actor=COMMAND)

    def rotate(applications: Applications) -> None:
        rotation = applications.rotate_secret(made.client_id, overlap=60, actor=COMMAND)
        rotated.append(rotation.client_secret)

    def switch(applications: Applications) -> None:
        applications.switch(made.client_id, active=True, actor=COMMAND)

    def run(deed: Callable[[Applications], None]) -> None:
        with app.app_context():
            together.wait(timeout=30)
            deed(app.extensions["idsync"].applications)

    for _ in range(10):
        rotated.clear()
        with app.app_context():
            applications = app.extensions["idsync"].applications
            applications.edit(made.client_id, name="Old", active=False, actor=COMMAND)
        together = Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, (rename, rotate, rotate, switch)))
        with app.app_context():
            found = app.extensions["idsync"].applications.find(made.client_id)
        assert (found.name, found.active) == ("New", True)
        # The second of two rotations keeps the first one's secret, which somebody was shown.
        assert all(found.has_secret(secret) for secret in rotated)


def test_no_two_changes_add_up_to_what_neither_may(app: Flask) -> None:
    """First-party, and an address that any program can claim: one of them is refused."""
    made = hosting.register_application(app, "App", "--public")
    changes = ({"first_party": True}, {"redirect_uris": ("org.example.app:/callback",)})

    def run(change: dict[str, Any]) -> bool:
        with app.app_context():
            together.wait(timeout=30)
            try:
                app.extensions["idsync"].applications.edit(made.client_id, actor=COMMAND, **change)
            except InvalidValue:
                return False
            return True

    for _ in range(10):
        with app.app_context():
            app.extensions["idsync"].applications.edit(
                made.client_id,
                actor=COMMAND,
                first_party=False,
                redirect_uris=("https://app.example/",),
            )
        together = Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(run, changes)) == [False, True]


def test_a_signing_key_is_retired_after_a_rotation(app: Flask) -> None:
    """The one that signs now is kept; what a retired key signed is not published any more."""
    import time
    from unittest import mock

    app.test_client().get("/oauth/jwks")
    old = next(
        key["kid"]
        for key in hosting.run(app, "idsync", "keys", "list", "--json")
        if key["algorithm"] == "RS256"
    )
    assert "signs now" in fail(app, "keys", "retire", old)
    for nonsense in ("nonsense", "-nonsense", "--nonsense"):  # ids may begin with a hyphen
        assert "No key in use" in fail(app, "keys", "retire", nonsense)
    hosting.run(app, "idsync", "keys", "rotate")
    with mock.patch("time.time", return_value=time.time() + 601):
        hosting.run(app, "idsync", "keys", "retire", old)
    kids = [key["kid"] for key in app.test_client().get("/oauth/jwks").json["keys"]]
    assert old not in kids
    assert len(kids) == 3


def test_a_back_channel_address_is_shown_changed_and_taken_away(app: Flask) -> None:
    """In `show`, `list` and `edit`; a bad one is refused by name."""
    address = "https://app.example.org/logged-out"
    named = ("--backchannel-logout-uri", address)
    made = hosting.register_application(app, "Wiki", *named)
    show = ("idsync", "application", "show", made.client_id, "--json")
    assert hosting.run(app, *show)["backchannel_logout_uri"] == address
    assert hosting.run(app, *show)["backchannel_logout_session_required"] is False
    assert address in hosting.run(app, "idsync", "application", "list")
    edit = ("idsync", "application", "edit", made.client_id)
    hosting.run(app, *edit, "--backchannel-logout-session-required")
    assert hosting.run(app, *show)["backchannel_logout_session_required"] is True
    refused = fail(app, *edit[1:], "--backchannel-logout-uri", "http://app.example.org/")
    assert "backchannel_logout_uri" in refused
    hosting.run(
        app, *edit, "--backchannel-logout-uri", "", "--no-backchannel-logout-session-required"
    )
    assert hosting.run(app, *show)["backchannel_logout_uri"] is None

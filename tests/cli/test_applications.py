"""`flask idsync application …` and `keys list`."""

from typing import Any

import pytest
from flask import Flask

import hosting


def fail(app: Flask, *args: str, **options: Any) -> str:
    """Run a command that must fail, and return what it said."""
    result = app.test_cli_runner().invoke(args=["idsync", *args], **options)
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    return result.output


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
    assert not any("secret" in name for name in shown)
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
    hosting.add_person(app, "Ada", "ada@example.org", "pw", "--id", "ada", "--phone", "+4930123456")
    assert "taken" in fail(app, "account", "add", "--name", "B", "--email", "ADA@example.org")
    assert "taken" in fail(app, "account", "add", "--name", "B", "--id", "ada")
    assert "taken" in fail(app, "account", "add", "--name", "B", "--phone", "+49 30 123456")


def test_accounts_are_listed_and_shown(app: Flask) -> None:
    """With tags, and never with a password or the host's own key."""
    person = hosting.add_person(
        app, "Ада", "ada@example.org", "pw", "--tag", "wiki", "--administrator"
    )
    shown = hosting.run(app, "idsync", "account", "show", person.id, "--json")
    assert shown["tags"] == ["wiki"]
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
        set(key) == {"kid", "algorithm", "created_at", "active_from", "retired_at"} for key in keys
    )


def test_a_database_without_tables_says_what_to_do(database_url: str) -> None:
    """The commonest mistake of a first start."""
    from host_app import create_app

    app = create_app(hosting.configuration(database_url))
    assert "flask db upgrade" in fail(app, "application", "list")
    hosting.close_host(app)


def test_an_edit_writes_only_what_it_changes(app: Flask) -> None:
    """Another administrator's rotation and deactivation are not undone by a new name."""
    from unittest import mock

    from idsync.applications.registry import Applications

    made = hosting.register_application(app, "Wiki")
    find = Applications.find

    def find_then_others_act(registry: Applications, client_id: str) -> Any:
        found = find(registry, client_id)
        patch.stop()
        hosting.run(app, "idsync", "application", "deactivate", client_id)
        return found

    patch = mock.patch.object(Applications, "find", find_then_others_act)
    patch.start()
    with app.app_context():
        app.extensions["idsync"].applications.edit(made.client_id, name="New")
    shown = hosting.run(app, "idsync", "application", "show", made.client_id, "--json")
    assert (shown["name"], shown["active"]) == ("New", False)


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
    assert "No published key" in fail(app, "keys", "retire", "nonsense")
    hosting.run(app, "idsync", "keys", "rotate")
    with mock.patch("time.time", return_value=time.time() + 601):
        hosting.run(app, "idsync", "keys", "retire", old)
    kids = [key["kid"] for key in app.test_client().get("/oauth/jwks").json["keys"]]
    assert old not in kids
    assert len(kids) == 3

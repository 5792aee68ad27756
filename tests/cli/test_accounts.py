"""`flask idsync account …`."""

import json
from typing import Any

import pytest
from flask import Flask

import hosting
from cli.failing import fail
from idsync.cli import accounts


def listed(app: Flask, *options: str) -> list[str]:
    """The ids that `account list` prints."""
    result = app.test_cli_runner().invoke(args=["idsync", "account", "list", "--json", *options])
    assert result.exit_code == 0, result.output
    return [json.loads(line)["id"] for line in result.stdout.splitlines()]


@pytest.fixture
def people(app: Flask) -> Flask:
    """Five, two of them with a tag, one disabled."""
    for number, name in enumerate(("Ada", "ADAM", "Bo", "Eve", "Zoe"), 1):
        tag = ("--tag", "wiki") if number < 3 else ()
        hosting.add_person(
            app, name, f"mail{number}@example.org", "pass word", "--id", f"p{number}", *tag
        )
    hosting.run(app, "idsync", "account", "disable", "p2")
    return app


def test_accounts_are_searched(people: Flask) -> None:
    """By the beginning of name, address or id, by tag, and by whether they are disabled."""
    assert listed(people) == ["p1", "p2", "p3", "p4", "p5"]
    assert listed(people, "ada") == ["p1", "p2"]
    assert listed(people, "mail4") == ["p4"]
    assert listed(people, "p5") == ["p5"]
    assert listed(people, "--tag", "wiki") == ["p1", "p2"]
    assert listed(people, "ada", "--enabled") == ["p1"]
    assert listed(people, "--disabled") == ["p2"]


def test_a_list_goes_on_where_it_stopped(people: Flask) -> None:
    """--limit says on standard error how to go on; the last page says nothing."""
    run = people.test_cli_runner().invoke
    first = run(args=["idsync", "account", "list", "--json", "--limit", "2"])
    assert [json.loads(line)["id"] for line in first.stdout.splitlines()] == ["p1", "p2"]
    after = first.stderr.split("--after ")[1].strip()
    assert listed(people, "--after", after) == ["p3", "p4", "p5"]
    last = run(args=["idsync", "account", "list", "--json", "--limit", "3", "--after", after])
    assert last.stderr == ""
    assert "after" in fail(people, "account", "list", "--after", "nonsense")


def test_a_long_list_is_one_table(people: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read page by page, with one line of headings."""
    monkeypatch.setattr(accounts, "PAGE", 2)
    lines = hosting.run(people, "idsync", "account", "list").splitlines()
    assert [line.split()[0] for line in lines] == ["ID", "p1", "p2", "p3", "p4", "p5"]
    assert listed(people, "--limit", "3") == ["p1", "p2", "p3"]
    nobody: Any = hosting.run(people, "idsync", "account", "list", "nobody")
    assert nobody.split()[0] == "ID"


def test_the_first_administrator_is_made_by_command(app: Flask) -> None:
    """Nobody is signed in yet who could make one."""
    person = hosting.add_person(app, "Ada", "ada@example.org", "pass word", "--administrator")
    shown = hosting.run(app, "idsync", "account", "show", person.id, "--json")
    assert shown["administrator"] is True
    assert hosting.sign_in(app.test_client(), person).status_code in (302, 303)


def test_an_account_is_changed_disabled_enabled_and_erased(app: Flask) -> None:
    """Each by a command of its own."""
    person = hosting.add_person(app)
    edited = hosting.run(
        app, "idsync", "account", "edit", person.id, "--json",
        "--name", "Countess", "--email", "", "--tag", "wiki", "--administrator",
    )  # fmt: skip
    assert (edited["name"], edited["email"], edited["tags"]) == ("Countess", None, ["wiki"])
    edited = hosting.run(
        app, "idsync", "account", "edit", person.id, "--json", "--untag", "wiki",
        "--no-administrator",
    )  # fmt: skip
    assert (edited["tags"], edited["administrator"]) == ([], False)
    assert "disabled        yes" in hosting.run(app, "idsync", "account", "disable", person.id)
    assert "disabled        no" in hosting.run(app, "idsync", "account", "enable", person.id)
    assert "signed out" in hosting.run(app, "idsync", "account", "sign-out", person.id)
    assert "no second factor" in hosting.run(app, "idsync", "account", "reset-factors", person.id)
    assert "Aborted" in fail(app, "account", "erase", person.id, input="n\n")
    hosting.run(app, "idsync", "account", "erase", person.id, "--yes")
    assert listed(app) == []
    assert "taken" in fail(app, "account", "add", "--name", "B", "--id", person.id)


@pytest.mark.parametrize(
    "command", ["show", "edit", "disable", "enable", "sign-out", "reset-factors"]
)
def test_an_unknown_account_is_named(app: Flask, command: str) -> None:
    options = ("--name", "x") if command == "edit" else ()
    assert "'nobody'" in fail(app, "account", command, "nobody", *options)


def test_an_edit_without_a_change_is_a_mistake(app: Flask) -> None:
    """Exit status 2, as for every mistake in the options."""
    person = hosting.add_person(app)
    result = app.test_cli_runner().invoke(args=["idsync", "account", "edit", person.id])
    assert (result.exit_code, "Nothing to change" in result.output) == (2, True)

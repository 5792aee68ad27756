"""`flask idsync account import` and `export`."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select, text
from werkzeug.security import generate_password_hash

import databases
import hosting
from accounts.transfer.people import HASH, PEOPLE, write_people
from cli.failing import fail
from host_app.models import User, db, identity
from idsync.accounts.transfer import importing


def export(app: Flask, path: Path, *options: str) -> Any:
    return hosting.run(app, "idsync", "account", "export", str(path), "--json", *options)


def import_people(app: Flask, path: Path, *options: str) -> Any:
    return hosting.run(app, "idsync", "account", "import", str(path), "--json", *options)


@pytest.fixture(params=["people.csv", "people.jsonl"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def test_people_are_imported_and_can_sign_in(app: Flask, path: Path) -> None:
    """With the password they had elsewhere; a disabled one not."""
    write_people(path, PEOPLE)
    assert import_people(app, path) == {
        "people": 3, "created": 3, "attached": 0, "unchanged": 0,
    }  # fmt: skip
    shown = hosting.run(app, "idsync", "account", "show", "ada-1", "--json")
    assert (shown["name"], shown["tags"], shown["email_verified"]) == ("=Ada", ["+x", "wiki"], True)
    person = hosting.Person("ada-1", "", "ada@example.org", "correct horse")
    assert hosting.sign_in(app.test_client(), person).status_code in (302, 303)
    disabled = hosting.Person("", "", "eve@example.org", "correct horse")
    assert hosting.sign_in(app.test_client(), disabled).status_code == 422


def test_an_export_is_what_an_import_takes(app: Flask, path: Path, tmp_path: Path) -> None:
    """Everything an account has comes back in another service, whatever is in the names."""
    write_people(path, PEOPLE)
    import_people(app, path)
    first = tmp_path / f"first{path.suffix}"
    assert export(app, first, "--with-passwords") == {
        "people": 3, "left_out": 0, "passwords_left_behind": 0,
    }  # fmt: skip
    (tmp_path / "elsewhere").mkdir()
    elsewhere = hosting.make_host(databases.sqlite_url(tmp_path / "elsewhere"))
    assert import_people(elsewhere, first)["created"] == 3
    second = tmp_path / f"second{path.suffix}"
    export(elsewhere, second, "--with-passwords")
    assert second.read_text() == first.read_text()
    assert HASH in first.read_text()
    hosting.close_host(elsewhere)


def test_whom_an_import_would_refuse_is_left_out_and_named(app: Flask, path: Path) -> None:
    """The site's own code stored them; one such line, and the file could not be imported."""
    hosting.add_person(app, "Ada", "ada@example.org")
    odd = [("Old", "old@localhost"), ("", "empty@example.org"), ("Twin", "ADA@example.org")]
    with app.app_context():
        rows = [{"name": name, "email": email} for name, email in odd]
        db.session.connection().execute(insert(User.__table__), rows)
        db.session.commit()
        for user in db.session.scalars(select(User)).all():
            identity.directory.ensure_record(user)
        db.session.commit()
    runner = app.test_cli_runner()
    result = runner.invoke(args=["idsync", "account", "export", str(path)])
    assert result.exit_code == 0
    assert result.stderr.count(" is left out: ") == 3
    assert "1 people are in" in result.stdout
    assert import_people(app, path, "--check")["people"] == 1


def test_hashes_are_exported_only_where_that_is_asked_for(app: Flask, path: Path) -> None:
    """An administrator's never: it is no exchange hash."""
    hosting.add_person(app, "Ada", "ada@example.org", "correct horse")
    hosting.add_person(app, "Root", "root@example.org", "correct horse", "--administrator")
    export(app, path)
    assert "pbkdf2" not in path.read_text()
    assert export(app, path, "--with-passwords")["passwords_left_behind"] == 1
    assert path.read_text().count("pbkdf2$") == 1
    assert "argon2" not in path.read_text()


def test_an_export_can_be_read_by_its_owner_only(app: Flask, path: Path) -> None:
    """Also where another file was there before, open to everybody."""
    path.write_text("old")
    path.chmod(0o644)
    export(app, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_export_that_fails_leaves_no_half_file(
    app: Flask, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there stays as it was, and nothing is left beside it."""
    from idsync.accounts.transfer.files import Writer

    path.write_text("old")
    for number in range(3):
        hosting.add_person(app, "Ada", f"ada{number}@example.org")
    write = Writer.write
    written: list[Any] = []

    def break_off(self: Writer, values: Any) -> None:
        write(self, values)
        written.append(values)
        if len(written) == 2:
            raise OSError("no space left")

    monkeypatch.setattr(Writer, "write", break_off)
    assert "no space left" in fail(app, "account", "export", str(path))
    assert path.read_text() == "old"
    assert [file.name for file in path.parent.iterdir() if path.name in file.name] == [path.name]


def test_nothing_but_a_file_is_replaced(app: Flask) -> None:
    assert "no file" in fail(app, "account", "export", "/dev/null", "--format", "csv")


def test_a_file_with_a_wrong_line_writes_nothing(app: Flask, path: Path) -> None:
    """Every wrong line is named, at once."""
    options = ("--id", "other", "--phone", "+4930999999")
    hosting.add_person(app, "Other", "other@example.org", "pass word", *options)
    hosting.add_person(app, "Gone", "gone@example.org", "pass word", "--id", "gone")
    hosting.run(app, "idsync", "account", "erase", "gone", "--yes")
    people = [
        {"name": "A", "email": "a@example.org"},
        {"name": "B", "email": "A@EXAMPLE.org"},
        {"name": "C", "email": "nonsense"},
        {"name": "D", "email": "d@example.org", "password": "plain text"},
        {"name": "E", "email": "e@example.org", "password": generate_password_hash("x")},
        {"name": "F", "id": "f", "password": "pbkdf2:sha256:9999$salt$" + "0" * 64},
        {"name": "G", "id": "gone"},
        {"name": "H", "id": "h", "phone": "+4930999999"},
        {"name": "I", "id": "i", "email": "other@example.org"},
        {"name": "J", "id": "other", "email": "a2@example.org"},
        {"name": "K", "id": "i", "phone": "+4930888888"},
        {"name": "L"},
    ]
    write_people(path, people)
    said = fail(app, "account", "import", str(path))
    first = 2 if path.suffix == ".csv" else 1
    wrong = {
        1: "email: is that of line",
        2: "email: not an e-mail",
        3: "plain password",
        4: "scrypt",
        5: "iterations",
        6: "erased",
        7: "phone: taken",
        10: "id: is that of line",
        11: "id: an id or an e-mail",
    }
    for index, reason in wrong.items():
        line = next(line for line in said.splitlines() if line.startswith(f"line {index + first}:"))
        assert reason in line
    assert "Nothing was imported: 9 lines are wrong." in said
    assert "plain text" not in said
    assert len(hosting.run(app, "idsync", "account", "list").splitlines()) == 2


def test_many_wrong_lines_are_counted(app: Flask, path: Path) -> None:
    """A hundred are enough to see what is wrong."""
    write_people(path, [{"name": "A"}] * 150)
    said = fail(app, "account", "import", str(path))
    assert len([line for line in said.splitlines() if line.startswith("line ")]) == 100
    assert "and 50 more" in said


def test_a_check_writes_nothing(app: Flask, path: Path) -> None:
    write_people(path, PEOPLE)
    assert import_people(app, path, "--check")["created"] == 0
    assert len(hosting.run(app, "idsync", "account", "list").splitlines()) == 1


def test_who_is_there_gets_the_tags_and_keeps_the_rest(app: Flask, path: Path) -> None:
    """By id, or else by address, as where a service creates them."""
    hosting.add_person(
        app, "Mine", "ADA@example.org", "all my own", "--id", "mine", "--tag", "mail"
    )
    write_people(path, PEOPLE[:1])
    assert import_people(app, path)["attached"] == 1
    shown = hosting.run(app, "idsync", "account", "show", "mine", "--json")
    assert (shown["name"], shown["tags"]) == ("Mine", ["+x", "mail", "wiki"])
    person = hosting.Person("", "", "ada@example.org", "all my own")
    assert hosting.sign_in(app.test_client(), person).status_code in (302, 303)


def test_a_second_run_does_nothing_twice(app: Flask, path: Path) -> None:
    """No account, no event, no revision."""
    write_people(path, PEOPLE)
    import_people(app, path)

    def so_far() -> tuple[int, int]:
        with app.app_context():
            revision = db.session.execute(text("SELECT revision FROM idsync_directory")).scalar()
            return identity.audit.count(), revision

    before = so_far()
    assert import_people(app, path)["unchanged"] == 3
    assert so_far() == before


def test_an_id_and_an_address_of_two_people_are_no_person(app: Flask, path: Path) -> None:
    hosting.add_person(app, "A", "a@example.org", "pass word", "--id", "a")
    hosting.add_person(app, "B", "b@example.org", "pass word", "--id", "b")
    write_people(path, [{"name": "A", "id": "a", "email": "B@example.org"}])
    assert "another account than the id" in fail(app, "account", "import", str(path))


def test_each_person_has_an_event(app: Flask, path: Path) -> None:
    """Made or given tags, by the command; an export is one event."""
    hosting.add_person(app, "Mine", "ada@example.org", "all my own")
    write_people(path, PEOPLE)
    import_people(app, path)
    export(app, path)
    with app.app_context():
        events = identity.audit.events(limit=4)
    kinds = [event.kind for event in events]
    assert kinds == [
        "accounts exported",
        "account attached",
        "account imported",
        "account imported",
    ]
    assert {event.actor.kind for event in events} == {"command"}


def test_what_changed_since_the_check_is_met_again(
    app: Flask, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody made one of the people meanwhile: they get the tags; one was erased: it stops."""
    write_people(path, PEOPLE)
    write = importing.Imports.write

    def late(self: importing.Imports, *args: Any, **named: Any) -> Any:
        hosting.add_person(app, "Quicker", "ada@example.org")
        return write(self, *args, **named)

    monkeypatch.setattr(importing.Imports, "write", late)
    assert import_people(app, path) == {"people": 3, "created": 2, "attached": 1, "unchanged": 0}

    def erase(self: importing.Imports, *args: Any, **named: Any) -> Any:
        hosting.run(app, "idsync", "account", "erase", "bo", "--yes")
        return write(self, *args, **named)

    monkeypatch.setattr(importing.Imports, "write", erase)
    assert "erased meanwhile" in fail(app, "account", "import", str(path))


def test_what_the_sites_table_refuses_is_said_with_its_lines(app: Flask, path: Path) -> None:
    """Without a traceback and without the value."""
    people = [{"name": "Twin", "id": "one"}, {"name": "Twin", "id": "two"}]
    write_people(path, people)
    with app.app_context():
        db.session.execute(text("CREATE UNIQUE INDEX one_of_a_name ON person (name)"))
        db.session.commit()
    said = fail(app, "account", "import", str(path))
    assert ("Lines 2 to 3" if path.suffix == ".csv" else "Lines 1 to 2") in said
    assert "Twin" not in said


def test_a_file_of_an_unknown_kind_is_asked_about(app: Flask, tmp_path: Path) -> None:
    """--format says what the name does not."""
    path = tmp_path / "people.txt"
    path.write_text(json.dumps({"name": "A", "id": "a"}) + "\n")
    assert "--format" in fail(app, "account", "import", str(path))
    assert import_people(app, path, "--format", "jsonl")["created"] == 1

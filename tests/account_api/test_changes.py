"""What changed since a cursor, and 304: how a reader keeps up without the whole list."""

from typing import Any

import pytest
from flask import Flask

from account_api.calling import ACCOUNTS, Service, a_hash, ids, register, run
from host_app.models import identity
from idsync.account_api.cursor import Cursor, read_cursor

# --- since ----------------------------------------------------------------------------------------


def test_since_gives_what_changed_and_nothing_else(service: Service) -> None:
    """Made, renamed, disabled; each as it is now, once, and erased ones by their id."""
    for name in ("ada", "bob", "eve", "kim"):
        service.created(name, id=name, tags=["wiki"])
    cursor = service.whole()["cursor"]
    assert service.changes(cursor) == {
        "accounts": [],
        "cursor": cursor,
        "complete": False,
        "removed": [],
    }
    service.changed("ada", name="Ada Lovelace")
    service.changed("ada", tags_add=["mail"])
    service.changed("bob", disabled=True)
    service.created("Lea", id="lea")
    run(service.app, "account", "erase", "eve", "--yes")
    changes = service.changes(cursor)
    assert ids(changes["accounts"]) == ["ada", "bob", "lea"]
    assert changes["removed"] == ["eve"]
    found = {account["id"]: account for account in changes["accounts"]}
    assert (found["ada"]["name"], found["ada"]["tags"]) == ("Ada Lovelace", ["mail", "wiki"])
    assert found["bob"]["disabled"] is True
    assert service.changes(changes["cursor"])["accounts"] == []
    assert service.changes(changes["cursor"])["removed"] == []


def test_with_a_tag_an_account_that_lost_it_is_removed(service: Service) -> None:
    """And one that has it still, disabled or not, is listed."""
    for name in ("ada", "bob", "eve"):
        service.created(name, id=name, tags=["wiki"])
    cursor = service.whole(tag="wiki")["cursor"]
    service.changed("ada", tags_remove=["wiki"])
    service.changed("bob", disabled=True)
    run(service.app, "account", "erase", "eve", "--yes")
    service.created("Kim", id="kim", tags=["mail"])
    changes = service.changes(cursor, tag="wiki")
    assert ids(changes["accounts"]) == ["bob"]
    assert {"ada", "eve"} <= set(changes["removed"])  # kim was never held; that is no harm
    assert ids(service.whole(tag="wiki")["accounts"]) == ["bob"]
    service.changed("ada", tags_add=["wiki"])
    assert ids(service.changes(changes["cursor"], tag="wiki")["accounts"]) == ["ada"]


def test_whatever_changes_what_is_shown_is_a_change(app: Flask, service: Service) -> None:
    """Being made an administrator too: the hash is withdrawn from every copy."""
    service.created(id="ada", email="ada@example.org", password=a_hash())
    for command in (
        ("account", "edit", "ada", "--administrator"),
        ("account", "edit", "ada", "--no-administrator"),
        ("account", "disable", "ada"),
        ("account", "enable", "ada"),
        ("account", "edit", "ada", "--email", ""),
    ):
        cursor = service.whole()["cursor"]
        run(app, *command)
        assert ids(service.changes(cursor)["accounts"]) == ["ada"], command
        (account,) = service.whole()["accounts"]
        assert service.changes(cursor)["accounts"] == [account]


def test_a_cursor_that_does_not_fit_gives_the_whole_list(app: Flask, service: Service) -> None:
    """Empty, garbage, of another tag, of another incarnation: it is never guessed at."""
    service.created(id="ada", tags=["wiki"])
    other_tag = service.whole(tag="wiki")["cursor"]
    own = service.whole()["cursor"]
    parsed = read_cursor(own)
    assert parsed is not None
    elsewhere = str(Cursor(b"elsewher", parsed.revision, parsed.shape))
    garbage = ["", "0", "é", "%", own + "=", own + "A", own[:-1], own.lower(), f'"{own}"', "A" * 99]
    for since in (*garbage, other_tag, elsewhere):
        answer = service.list(since=since)
        assert answer.status_code == 200, since
        assert answer.json["complete"] is True, since
        assert "removed" not in answer.json
        assert ids(answer.json["accounts"]) == ["ada"]
    assert service.list(since=own, tag="wiki").json["complete"] is True
    run(app, "restored")
    assert service.list(since=own).json["complete"] is True


def test_a_cursor_ahead_of_the_counter_makes_every_cursor_foreign(
    app: Flask, service: Service
) -> None:
    """The database was restored from a backup: what others hold may never have happened."""
    service.created(id="ada")
    other = register(app, "Mail")
    held = other.list()
    parsed = read_cursor(held.json["cursor"])
    assert parsed is not None
    ahead = str(Cursor(parsed.incarnation, parsed.revision + 5, parsed.shape))
    assert service.list(since=ahead).json["complete"] is True
    again = other.list(since=held.json["cursor"], etag=held.headers["ETag"])
    assert again.status_code == 200
    assert again.json["complete"] is True
    assert service.changes(again.json["cursor"])["accounts"] == []

    current = read_cursor(again.json["cursor"])
    assert current is not None
    ahead = str(Cursor(current.incarnation, current.revision + 5, current.shape))
    answer = service.list(etag=f'"{ahead}"')  # an ETag tells it as well
    assert answer.json["cursor"] != again.json["cursor"]
    with app.app_context():
        events = identity.audit.events(kind="directory restored")
        assert [one.client_id for one in events] == [service.client.client_id] * 2
    assert other.list(since=again.json["cursor"]).json["complete"] is True


def test_a_restore_between_the_question_and_the_answer_is_noticed(
    app: Flask, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes are told only from the snapshot they are read in."""
    service.created(id="ada")
    cursor = service.whole()["cursor"]
    listing = app.extensions["idsync"].listing
    read = listing.read

    def restored_first(revision: int, tag: str | None = None) -> Any:
        if revision:
            run(app, "restored")
        return read(revision, tag)

    monkeypatch.setattr(listing, "read", restored_first)
    answer = service.list(since=cursor)
    assert answer.json["complete"] is True
    assert ids(answer.json["accounts"]) == ["ada"]
    monkeypatch.undo()
    assert service.changes(answer.json["cursor"])["accounts"] == []


# --- ETag -----------------------------------------------------------------------------------------


def test_an_unchanged_list_is_304(service: Service) -> None:
    """RFC 9110 §13.1.2: in lists, weak, without quotes, and `*`; a changed one is sent."""
    service.created(id="ada", tags=["wiki"])
    first = service.list()
    etag = first.headers["ETag"]
    for sent in (etag, f"W/{etag}", f'"other", {etag}', f'{etag},"other"', etag.strip('"'), "*"):
        answer = service.list(etag=sent)
        assert answer.status_code == 304, sent
        assert answer.data == b""
        assert answer.headers["ETag"] == etag
        assert answer.headers["Cache-Control"] == "no-store"
    for sent in ("", '""', '"', ",", "W/", '"é"', f'"{etag[1:-2]}"', f'"x{etag[1:]}'):
        assert service.list(etag=sent).status_code == 200, sent
    of_tag = service.list(tag="wiki").headers["ETag"]
    assert of_tag != etag
    assert service.list(etag=of_tag).status_code == 200
    assert service.list(etag=of_tag, tag="wiki").status_code == 304
    assert service.list(etag=etag, since=first.json["cursor"]).status_code == 304
    service.changed("ada", name="B")
    answer = service.list(etag=etag)
    assert answer.status_code == 200
    assert answer.headers["ETag"] not in (etag, None)
    service.changed("ada", name="B")  # the same again is no change
    assert service.list(etag=answer.headers["ETag"]).status_code == 304


def test_head_tells_the_etag_without_the_list(service: Service) -> None:
    """RFC 9110 §9.3.2."""
    service.created()
    etag = service.list().headers["ETag"]
    answer = service.call("HEAD", ACCOUNTS)
    assert (answer.status_code, answer.data) == (200, b"")
    assert answer.headers["ETag"] == etag
    answer = service.call("HEAD", ACCOUNTS, headers={"If-None-Match": etag})
    assert answer.status_code == 304
    assert service.call("HEAD", "/api/services").status_code == 200
    assert service.call("HEAD", "/api/service/openapi.json").status_code == 200

"""Long work is killed (kill -9) and run again: nothing is lost, nothing is done twice."""

import secrets
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert

import hosting
from host_app.models import User, db, identity
from idsync.accounts.passwords import PURPOSE
from idsync.audit.events import COMMAND
from idsync.crypto.keys import key_id, parse_keys
from idsync.crypto.sealing import Sealer
from idsync.extension import EXTENSION
from kills.interrupting import Interrupted, assert_sound, number_of, rows
from kills.killing import FLASK, run
from listed import changes_since

CHANGE_EVERYBODY = ("-m", "tests.kills.change_everybody")


def add_people(number: int) -> None:
    """As a site had them before idsync; every tenth shares an address, but for its case."""
    people = [
        {
            "name": f"Person {index}",
            "email": f"{'PERSON' if index % 10 == 9 else 'person'}{index // 10}@example.org"
            if index % 10 in (0, 9)
            else f"{index}@example.org",
        }
        for index in range(number)
    ]
    db.session.connection().execute(insert(User.__table__), people)
    db.session.commit()


# --- adopt ----------------------------------------------------------------------------------------


def kill_adoptions(host: Flask, settings: dict[str, Any], people: int, kills: int) -> int:
    add_people(people)
    interrupted = Interrupted(people, people, lambda: number_of("idsync_account"))
    subjects: dict[int, str] = {}
    for _ in range(kills):
        interrupted.kill(1, settings, *FLASK, "adopt")
        now = dict(rows("SELECT account_key, subject FROM idsync_account"))
        assert now.items() >= subjects.items()  # nobody was adopted anew
        subjects = now
    hosting.run(host, "idsync", "adopt")
    assert dict(rows("SELECT account_key, subject FROM idsync_account")).items() >= subjects.items()
    assert number_of("idsync_account") == people
    assert number_of("idsync_account WHERE revision = 0") == 0
    assert number_of("idsync_account WHERE email_key IS NULL") == people // 10
    assert len(changes_since(host.extensions[EXTENSION].listing, 0).accounts) == people
    assert hosting.run(host, "idsync", "adopt", "--json")["adopted"] == 0
    assert_sound(host)
    return interrupted.midway


def test_a_killed_adoption_goes_on(host: Flask, settings: dict[str, Any]) -> None:
    """Everybody is adopted once and keeps the id that the first run gave them."""
    assert kill_adoptions(host, settings, people=3000, kills=1) == 1


@pytest.mark.proof
def test_a_killed_adoption_goes_on_20_times(host: Flask, settings: dict[str, Any]) -> None:
    """With more people."""
    assert kill_adoptions(host, settings, people=20_000, kills=20) >= 10


# --- keys reseal ----------------------------------------------------------------------------------


def add_sealed(app: Flask, settings: dict[str, Any], number: int) -> dict[str, bytes]:
    """Accounts with something sealed in them; what it is, by subject."""
    add_people(number)
    hosting.run(app, "idsync", "adopt")
    sealer = Sealer(parse_keys("", settings["IDSYNC_SEALING_KEYS"]))
    plain = {
        subject: f"pbkdf2$10000${secrets.token_hex(8)}${secrets.token_hex(32)}".encode()
        for (subject,) in rows("SELECT subject FROM idsync_account")
    }
    table = db.metadata.tables["idsync_account"]
    db.session.connection().execute(
        table.update()
        .where(table.c.subject == db.bindparam("its"))
        .values(password=db.bindparam("blob"), legacy_password=False),
        [
            {"its": subject, "blob": sealer.seal(value, purpose=PURPOSE, subject=subject)}
            for subject, value in plain.items()
        ],
    )
    db.session.commit()
    return plain


def kill_reseals(
    host: Flask, settings: dict[str, Any], *, people: int, rounds: int, kills: int
) -> int:
    plain, midway = add_sealed(host, settings, people), 0
    counter = rows("SELECT revision FROM idsync_directory")
    host.test_client().get("/oauth/jwks")  # makes signing keys, which are sealed too
    keys = list(settings["IDSYNC_SEALING_KEYS"])
    for seed in range(rounds):
        new = secrets.token_urlsafe(32)
        newer = {**settings, "IDSYNC_SEALING_KEYS": [new, *keys]}
        new_id = key_id(parse_keys("", [new])[0])
        interrupted = Interrupted(
            seed,
            people,
            lambda new_id=new_id: number_of(
                "idsync_account WHERE substr(password, 2, 4) = :id", id=new_id
            ),
        )
        interrupted.kill(kills, newer, *FLASK, "keys", "reseal")
        midway += interrupted.midway
        # Whatever was reached, both keys open everything.
        with hosting.host(newer) as between:
            assert_sound(between)
            with between.app_context():
                hosting.run(between, "idsync", "keys", "reseal")
        keys = [new]
        assert rows("SELECT key_id FROM idsync_sealing_key") == [(new_id,)]
    assert rows("SELECT revision FROM idsync_directory") == counter
    newest = {**settings, "IDSYNC_SEALING_KEYS": keys}
    with hosting.host(newest) as after:
        assert_sound(after)
        assert after.test_client().get("/oauth/jwks").status_code == 200
    sealer = Sealer(parse_keys("", keys))
    found = {
        subject: sealer.unseal(bytes(blob), purpose=PURPOSE, subject=subject)
        for subject, blob in rows("SELECT subject, password FROM idsync_account")
    }
    assert len(found) == len(plain)
    assert [subject for subject in plain if found[subject] != plain[subject]] == []
    return midway


def test_a_killed_reseal_goes_on(host: Flask, settings: dict[str, Any]) -> None:
    """Every secret opens with the newest key alone and is what it was; no revision moves."""
    assert kill_reseals(host, settings, people=4000, rounds=1, kills=1) == 1


@pytest.mark.proof
def test_a_killed_reseal_goes_on_through_8_keys(host: Flask, settings: dict[str, Any]) -> None:
    """Three kills with each new key."""
    assert kill_reseals(host, settings, people=20_000, rounds=8, kills=3) >= 12


# --- a script of the site -------------------------------------------------------------------------


def kill_scripts(host: Flask, settings: dict[str, Any], people: int, kills: int) -> int:
    for index in range(people):
        identity.directory.add(actor=COMMAND, name=f"Person {index}")
    db.session.commit()
    listing = host.extensions[EXTENSION].listing
    start = changes_since(listing, 0)
    db.session.rollback()
    interrupted = Interrupted(
        people, people, lambda: number_of("person WHERE name LIKE '%, changed'")
    )
    copy = {account.subject: account.name for account in start.accounts}
    revision = start.revision
    for killed in range(kills + 1):
        if killed < kills:
            interrupted.kill(1, settings, *CHANGE_EVERYBODY)
        else:
            run(settings, *CHANGE_EVERYBODY)
        changes = changes_since(listing, revision)
        db.session.rollback()
        copy |= {account.subject: account.name for account in changes.accounts}
        revision = changes.revision
    assert sorted(copy.values()) == sorted(f"Person {index}, changed" for index in range(people))
    # One transaction for each of them, and none twice.
    assert revision == start.revision + people
    stamped = rows("SELECT revision FROM idsync_account ORDER BY revision")
    assert stamped == [(start.revision + 1 + index,) for index in range(people)]
    assert number_of("idsync_event WHERE kind = 'account changed'") == people
    assert_sound(host)
    return interrupted.midway


def test_a_killed_script_that_changes_accounts_goes_on(
    host: Flask, settings: dict[str, Any]
) -> None:
    """Each account is changed once, with its event, and a reader hears of each."""
    assert kill_scripts(host, settings, people=200, kills=1) == 1


@pytest.mark.proof
def test_a_killed_script_that_changes_accounts_goes_on_20_times(
    host: Flask, settings: dict[str, Any]
) -> None:
    """With more people."""
    assert kill_scripts(host, settings, people=5000, kills=20) >= 10

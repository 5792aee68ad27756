"""Creating an account, or giving the one that exists the tags (contract, section 4.7)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask

import hosting
from account_api.calling import Service, a_hash, counter, refusal, rows, run


def test_a_new_person_is_created(service: Service) -> None:
    """201, `existed: false`, the id, and the account as the list shows it."""
    own = a_hash()
    answer = service.create(name=" Ада ", email="Ada@example.org", password=own, tags=["wiki", "x"])
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    assert set(answer.json) == {"existed", "id", "account"}
    assert answer.json["existed"] is False
    account = answer.json["account"]
    assert account["id"] == answer.json["id"]
    assert (account["name"], account["email"]) == ("Ада", "Ada@example.org")
    assert (account["tags"], account["password"]) == (["wiki", "x"], own)
    assert service.whole()["accounts"] == [account]


def test_only_a_name_is_needed(service: Service) -> None:
    """E-mail and password may be missing or null; two people without are two people."""
    first = service.create(name="Somebody")
    second = service.create(name="Somebody", email=None, password=None, tags=[])
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json["id"] != second.json["id"]
    account = second.json["account"]
    assert (account["email"], account["password"], account["tags"]) == (None, None, [])


def test_the_callers_own_id_is_kept(service: Service) -> None:
    """1 to 64 of [A-Za-z0-9._~-]."""
    for own in ("0", "openapi.json", "a.b_c~d-e", "-", "..", "Z" * 64):
        assert service.created(id=own) == own
        assert service.changed(own, name="New")["name"] == "New"
    for wrong in ("", "a b", "a/b", "a%2Fb", "ж", "a\n", "Z" * 65, "a\u0000"):
        said = refusal(service.create(name="Eve", id=wrong))
        assert said == "id: 1 to 64 characters, each a letter, a digit or one of . _ ~ -"


def test_a_taken_or_erased_id_is_refused(service: Service) -> None:
    """An erased id stays taken: copies may still hold it."""
    service.created(id="ada")
    service.created(id="email-1")
    run(service.app, "account", "erase", "ada", "--yes")
    before = counter(service.app)
    for taken in ("ada", "email-1"):
        assert refusal(service.create(name="Eve", id=taken)) == "id: taken by another account"
    assert counter(service.app) == before


def test_a_person_who_exists_gets_the_tags_and_nothing_else(app: Flask, service: Service) -> None:
    """200, `existed: true`, the id to use; password, name, id and e-mail stay as they were."""
    own = a_hash()
    service.created("Ada", id="ada", email="ada@example.org", password=own, tags=["wiki"])
    answer = service.create(
        name="Somebody", email="ADA@Example.ORG", password=a_hash(), tags=["mail"], id="own"
    )
    assert answer.status_code == 200
    assert (answer.json["existed"], answer.json["id"]) == (True, "ada")
    account = answer.json["account"]
    assert (account["name"], account["email"]) == ("Ada", "ada@example.org")
    assert (account["tags"], account["password"]) == (["mail", "wiki"], own)
    assert service.whole()["accounts"] == [account]
    before = counter(app)
    assert service.create(name="Ada", email=" ada@example.org", tags=["mail"]).status_code == 200
    assert counter(app) == before  # nothing was new


@pytest.mark.parametrize("state", ["disabled", "administrator", "without a password"])
def test_whoever_exists_stays_what_they_are(app: Flask, service: Service, state: str) -> None:
    """A disabled person is not enabled, an administrator keeps everything, nobody gets a hash."""
    person = hosting.add_person(app, "Ada", "ada@example.org", "correct horse")
    if state == "disabled":
        run(app, "account", "disable", person.id)
    elif state == "administrator":
        run(app, "account", "edit", person.id, "--administrator")
    else:
        person = hosting.Person(
            service.created(email="eve@example.org"), "Eve", "eve@example.org", ""
        )
    secret = "SELECT password, epoch, disabled_by FROM idsync_account WHERE subject = :id"
    before = rows(app, secret, id=person.id)
    answer = service.create(
        name="Eve", email=person.email.upper(), password=a_hash(), tags=["mail"], id="own"
    )
    assert answer.status_code == 200
    assert answer.json["id"] == person.id
    assert answer.json["account"]["tags"] == ["mail"]
    assert answer.json["account"]["disabled"] is (state == "disabled")
    assert rows(app, secret, id=person.id) == before


def test_what_is_wrong_is_refused_for_people_who_exist_too(service: Service) -> None:
    """Else a service that sends plain passwords would hear of it only with the first new person."""
    service.created(id="ada", email="ada@example.org", tags=["wiki"])
    before = counter(service.app)
    for wrong, named in (
        ({"password": "correct horse"}, "password: A password hash must have the form"),
        ({"password": "pbkdf2$1000$salt$" + "0" * 64}, "password: The iterations"),
        ({"name": ""}, "name: must not be empty"),
        ({"name": "  "}, "name: must not be empty"),
        ({"id": "a b"}, "id: 1 to 64 characters"),
        ({"tags": ["mail", ""]}, "tags[1]: must not be empty"),
        ({"tags": ["mail", " x"]}, "tags: ' x' begins or ends with a space"),
    ):
        body = {"name": "Ada", "email": "ADA@example.org", "tags": ["mail"], **wrong}
        assert named in refusal(service.create(**body))
    assert counter(service.app) == before
    assert service.whole()["accounts"][0]["tags"] == ["wiki"]


def test_what_happened_is_in_the_audit_log(app: Flask, service: Service) -> None:
    """Who did it; that somebody existed is an event of its own; never a hash."""
    ada = service.created(email="ada@example.org", tags=["wiki"], password=a_hash())
    service.create(name="Ada", email="ada@example.org", tags=["mail"], password=a_hash())
    service.changed(ada, name="Ada L.", password=a_hash(), tags_add=["x"])
    service.change(ada, name="")
    events = rows(
        app,
        "SELECT kind, actor_kind, actor, details FROM idsync_event WHERE subject = :id ORDER BY id",
        id=ada,
    )
    assert [row.kind for row in events] == [
        "account created",
        "account attached",
        "account changed",
    ]
    for row in events:
        assert (row.actor_kind, row.actor) == ("service", service.client.client_id)
        assert "pbkdf2" not in str(row.details)
    for detail in ("name", "password", "tags_added", "x"):
        assert detail in str(events[2].details)


def at_once(service: Service, bodies: list[dict[str, Any]]) -> list[Any]:
    """Create all of these at the same moment, each from a thread of its own."""
    start = threading.Barrier(len(bodies))

    def create(body: dict[str, Any]) -> Any:
        start.wait()
        return service.create(**body)

    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(create, bodies))


def test_of_two_creations_at_once_one_finds_the_others_person(service: Service) -> None:
    """Same e-mail but for its case: one account with the tags of all."""
    for round_ in range(10):
        tags = [f"tag{number}" for number in range(4)]
        answers = at_once(
            service,
            [
                {"name": tag, "email": f"Person{round_}@example.org".swapcase(), "tags": [tag]}
                if number % 2
                else {"name": tag, "email": f"Person{round_}@example.org", "tags": [tag]}
                for number, tag in enumerate(tags)
            ],
        )
        assert sorted(one.status_code for one in answers) == [200, 200, 200, 201]
        assert len({one.json["id"] for one in answers}) == 1
        assert service.changed(answers[0].json["id"])["tags"] == tags
    assert len(service.whole()["accounts"]) == 10


def test_of_two_creations_with_one_id_one_is_refused(service: Service) -> None:
    """The refusal names the id, also where its text looks like another field."""
    for round_ in range(10):
        answers = at_once(
            service,
            [
                {"name": "A", "id": f"email-{round_}", "email": f"{who}{round_}@example.org"}
                for who in "abc"
            ],
        )
        assert sorted(one.status_code for one in answers) == [201, 400, 400]
        said = {one.json["error"] for one in answers if one.status_code == 400}
        assert said == {"id: taken by another account"}
    assert len(service.whole()["accounts"]) == 10

"""Changing an account: all of it or nothing (contract, section 4.8)."""

import pytest
from flask import Flask

import hosting
from account_api.calling import ACCOUNTS, Service, a_hash, counter, ids, refusal, run
from idsync.crypto.exchange import ExchangeHash


def test_a_change_answers_with_the_whole_account(service: Service) -> None:
    """All fields are optional; what is left out stays."""
    ada = service.created("Ada", email="ada@example.org", password=a_hash(), tags=["wiki", "x"])
    new = a_hash()
    changed = service.changed(
        ada,
        name="Ada L.",
        email="New@example.org",
        password=new,
        tags_add=["mail", "ученик"],
        tags_remove=["x", "never had it"],
        disabled=True,
    )
    assert changed == service.whole()["accounts"][0]
    assert {**changed, "updated_at": ""} == {
        "id": ada,
        "name": "Ada L.",
        "email": "New@example.org",
        "tags": ["mail", "wiki", "ученик"],
        "roles": ["student"],
        "disabled": True,
        "mfa": False,
        "password": new,
        "updated_at": "",
    }
    before = counter(service.app)
    assert service.changed(ada) == changed
    assert counter(service.app) == before
    assert service.changed(ada, email=None)["email"] is None
    assert service.changed(ada, disabled=False)["disabled"] is False


def test_an_id_without_an_account_is_404(app: Flask, service: Service) -> None:
    """Unknown, erased, or no id at all: percent-encoded, with NUL, very long."""
    service.created(id="gone")
    service.created(id="ada")
    run(app, "account", "erase", "gone", "--yes")
    encoded = "a%2Fb ..%2Fada %00 ada%00 ada%20 %FF %ED%A0%80 %25 ada%E2%80%8B"
    for path in (
        "nobody",
        "gone",
        "ADA",
        "ж",
        "ada;x",
        "'",
        "x" * 65,
        "x" * 5000,
        *encoded.split(),
    ):
        said = refusal(service.call("POST", f"{ACCOUNTS}/{path}", json={}), 404)
        assert said.isprintable(), path
    # A body that is refused where there is an account, too.
    assert refusal(service.change("nobody", email="no address"), 404)
    assert [one["id"] for one in service.whole()["accounts"]] == ["ada"]


def test_a_refused_field_leaves_the_others_alone(service: Service) -> None:
    """Each refusal names the field; nothing is half done."""
    ada = service.created("Ada", email="ada@example.org", tags=["wiki"], password=a_hash())
    service.created("Bob", email="bob@example.org")
    account, before = service.changed(ada), counter(service.app)
    for wrong, named in (
        ({"email": "BOB@example.org"}, "email: taken by another account"),
        ({"email": ""}, "email: must not be empty"),
        ({"email": "bob"}, "email: not an e-mail address"),
        ({"email": "x" * 250 + "@example.org"}, "email: longer than 254 characters"),
        ({"email": "ada@exa\u0000mple.org"}, "email: has an invisible character"),
        ({"email": " ADA@example.org\u200f"}, "email: has an invisible character"),
        ({"name": ""}, "name: must not be empty"),
        ({"name": None}, "name: expected str, got null"),
        ({"password": None}, "password: expected str, got null"),
        ({"password": ""}, "password: A password hash must have the form"),
        ({"password": "correct horse"}, "A plain password is never accepted"),
        ({"password": "pbkdf2$2000001$c2FsdA$" + "0" * 64}, "password: The iterations"),
        ({"tags_add": ["mail"], "tags_remove": ["mail"]}, "tags_add: 'mail' is to be removed"),
        ({"tags_add": ["caf\u00e9"], "tags_remove": ["cafe\u0301"]}, "is to be removed"),
        ({"tags_remove": ["x" * 65]}, "tags_remove[0]: longer than 64 characters"),
        ({"tags_add": None}, "tags_add: expected array, got null"),
        ({"disabled": None}, "disabled: expected bool, got null"),
        ({"disabled": 1}, "disabled: expected bool, got int"),
        ({"tags": ["mail"]}, "tags: is not a field of this request"),
        ({"id": "own"}, "id: is not a field of this request"),
        ({"mfa": False}, "mfa: is not a field of this request"),
        ({"administrator": True}, "administrator: is not a field of this request"),
    ):
        said = refusal(service.change(ada, **{"name": "New", "tags_add": ["new"], **wrong}))
        assert named in said, wrong
    assert service.changed(ada) == account
    assert counter(service.app) == before


def test_an_address_that_differs_by_case_only_is_the_persons_own(service: Service) -> None:
    """It is stored as a new one would be, not as it was sent."""
    ada = service.created(email="ada@example.org")
    assert service.changed(ada, email="Ada@Example.org")["email"] == "Ada@example.org"
    assert service.changed(ada, email=" ada@example.org ")["email"] == "ada@example.org"


def test_a_new_password_signs_the_person_in_and_the_old_one_no_longer(
    app: Flask, service: Service
) -> None:
    """Contract, section 3: everything the account held ends."""
    person = hosting.add_person(app, password="the old one")
    browser = app.test_client()
    assert hosting.sign_in(browser, person).status_code == 303
    assert person.name in browser.get("/").text
    service.changed(person.id, password=str(ExchangeHash.create("new one", iterations=10_000)))
    assert person.name not in browser.get("/").text
    assert hosting.sign_in(app.test_client(), person).status_code != 303
    assert hosting.sign_in(app.test_client(), person, password="new one").status_code == 303


def test_a_disabled_account_is_enabled_only_by_whom_may(app: Flask, service: Service) -> None:
    """What a service disabled a service enables, what an administrator disabled only they do."""
    ada = service.created(id="ada")
    service.changed(ada, disabled=True)
    assert service.changed(ada, disabled=False)["disabled"] is False
    run(app, "account", "disable", ada)
    said = refusal(service.change(ada, disabled=False, name="New"))
    assert said == "disabled: an administrator disabled this account"
    assert service.changed(ada, disabled=True)["name"] == "Ada"
    run(app, "account", "enable", ada)
    assert service.changed(ada)["disabled"] is False


@pytest.mark.parametrize("field", ["email", "password", "disabled"])
def test_an_administrator_is_out_of_reach(app: Flask, service: Service, field: str) -> None:
    """A service that could change these could sign in to the console; names and tags it may."""
    admin = hosting.add_person(
        app, "Admin", "admin@example.org", "correct horse", "--administrator"
    )
    before = service.changed(admin.id)
    for value in {
        "email": ["new@example.org", "admin@example.org", None],
        "password": [a_hash()],
        "disabled": [True, False],
    }[field]:
        said = refusal(service.change(admin.id, **{field: value, "name": "New"}))
        assert said == f"{field}: of an administrator can only be changed by an administrator"
    assert service.changed(admin.id) == before
    assert service.changed(admin.id, name="New", tags_add=["wiki"])["tags"] == ["wiki"]
    assert hosting.sign_in(app.test_client(), admin).status_code == 303


def test_a_service_makes_no_administrator_by_a_tag(app: Flask, service: Service) -> None:
    """The role is for consuming services; the console asks for the attribute."""
    ada = service.created(email="ada@example.org", tags=["администратор"])
    assert service.changed(ada)["roles"] == ["admin"]
    assert run(app, "account", "show", ada, "--json")["administrator"] is False
    assert service.changed(ada, disabled=True)["disabled"] is True
    assert ids(service.whole(tag="администратор")["accounts"]) == [ada]

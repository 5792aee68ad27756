"""The list: what stands in it, for whom, and how it is asked for (contract, section 4.6)."""

import json

import pytest
from flask import Flask
from sqlalchemy import text

import hosting
from account_api.calling import (
    ACCOUNTS,
    Service,
    a_hash,
    counter,
    ids,
    refusal,
    register,
    rows,
    run,
)
from host_app.models import db
from idsync.crypto.exchange import ExchangeHash

# --- what stands in it ----------------------------------------------------------------------------


def test_an_account_is_listed_with_exactly_the_contracts_fields(service: Service) -> None:
    """Section 2; the whole list says so, and where to go on from."""
    own = a_hash()
    tags = ["wiki", "ученик", "администратор", "日本"]
    service.created("Ада Лавлейс", id="ada", email="Ada@example.org", password=own, tags=tags)
    answer = service.list()
    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.content_length == len(answer.data)
    assert set(answer.json) == {"accounts", "cursor", "complete"}
    (account,) = answer.json["accounts"]
    assert len(account.pop("updated_at")) == len("YYYY-MM-DDThh:mm:ss")
    assert account == {
        "id": "ada",
        "name": "Ада Лавлейс",
        "email": "Ada@example.org",
        "tags": ["wiki", "администратор", "ученик", "日本"],
        "roles": ["admin", "student"],
        "disabled": False,
        "mfa": False,
        "password": own,
    }
    assert answer.headers["ETag"] == f'"{answer.json["cursor"]}"'


def test_a_list_of_nobody_is_a_list(service: Service) -> None:
    """Before anybody was ever there, and after."""
    assert service.whole()["accounts"] == []
    ada = service.created(tags=["wiki"])
    assert service.whole(tag="mail")["accounts"] == []
    run(service.app, "account", "erase", ada, "--yes")
    assert service.whole()["accounts"] == []


def test_only_hashes_a_service_may_check_are_shown(app: Flask, service: Service) -> None:
    """Never an administrator's, nor one of another kind, nor the site's own; null instead."""
    hosting.add_person(app, "Admin", "admin@example.org", "correct horse", "--administrator")
    hosting.add_person(app, "Person", "person@example.org", "correct horse")
    service.created("Nobody's password")
    service.created("Theirs", email="theirs@example.org", password=a_hash())
    service.created("Promoted", id="promoted", email="p@example.org", password=a_hash())
    run(app, "account", "edit", "promoted", "--administrator")
    shown = {account["name"]: account["password"] for account in service.whole()["accounts"]}
    assert {name for name, hashed in shown.items() if hashed is None} == {
        "Admin",
        "Nobody's password",
        "Promoted",
    }
    assert ExchangeHash.parse(shown["Person"]).verify("correct horse")


def test_without_password_exchange_no_hash_leaves(database_url: str) -> None:
    """IDSYNC_PASSWORD_EXCHANGE off: null for everybody, also for hashes stored before."""
    config = hosting.configuration(database_url)
    app = hosting.make_host(database_url, **config)
    service = register(app)
    ada = service.created(email="ada@example.org", password=a_hash())
    cursor = service.whole()["cursor"]
    hosting.close_host(app)

    app = hosting.make_host(database_url, **config, IDSYNC_PASSWORD_EXCHANGE=False)
    service = Service(app, service.client)
    answer = service.list(since=cursor)
    assert answer.json["complete"] is True  # what was listed with hashes is to be taken anew
    assert answer.json["accounts"][0]["password"] is None
    assert service.changed(ada, name="B")["password"] is None
    assert service.create(name="Ada", email="ada@example.org").json["account"]["password"] is None
    hosting.close_host(app)


def test_a_changed_role_map_is_a_changed_list(database_url: str) -> None:
    """Roles are derived, so a reader with the old ones is given the whole list."""
    config = hosting.configuration(database_url)
    app = hosting.make_host(database_url, **config)
    service = register(app)
    service.created(tags=["chef"])
    first = service.list()
    assert first.json["accounts"][0]["roles"] == []
    hosting.close_host(app)

    app = hosting.make_host(database_url, **config, IDSYNC_ROLE_MAP={"chef": "cook"})
    service = Service(app, service.client)
    answer = service.list(since=first.json["cursor"], etag=first.headers["ETag"])
    assert answer.status_code == 200
    assert answer.json["complete"] is True
    assert answer.json["accounts"][0]["roles"] == ["cook"]
    hosting.close_host(app)


def test_one_password_that_cannot_be_opened_does_not_stop_the_others(
    app: Flask, service: Service
) -> None:
    """It was altered or moved in the database; its account is listed without it."""
    service.created("Ada", id="ada", password=a_hash())
    service.created("Eve", id="eve", password=a_hash())
    with app.app_context():
        # Ada's row gets Eve's hash.
        db.session.execute(
            text(
                "UPDATE idsync_account SET password = (SELECT password FROM idsync_account"
                " WHERE subject = 'eve') WHERE subject = 'ada'"
            )
        )
        db.session.commit()
    shown = {account["id"]: account["password"] for account in service.whole()["accounts"]}
    assert shown["ada"] is None
    assert shown["eve"] is not None


def test_a_missing_sealing_key_empties_no_list(app: Flask, service: Service) -> None:
    """Null for everybody would take all passwords out of every copy."""
    service.created(password=a_hash())
    app.extensions["idsync"].passwords._sealer._ciphers.clear()
    with pytest.raises(Exception, match="sealing key"):
        service.list()


# --- by tag ---------------------------------------------------------------------------------------


def test_a_tag_selects_the_accounts_that_have_it(service: Service) -> None:
    """Exactly that tag, in any script, however its accents are composed."""
    tags = ["wiki", "wik", "wiki2", "ученик", "Ученик", 'a"b', "a%b", "a_b", "a\\b", "caf\u00e9"]
    for number, tag in enumerate(tags):
        service.created(id=f"id{number}", tags=[tag, "all"])
    for number, tag in enumerate(tags):
        assert ids(service.whole(tag=tag)["accounts"]) == [f"id{number}"], tag
    assert ids(service.whole(tag="cafe\u0301")["accounts"]) == [f"id{len(tags) - 1}"]
    assert len(service.whole(tag="all")["accounts"]) == len(tags)
    assert service.whole(tag="nobody's")["accounts"] == []


def test_a_query_that_could_mean_something_else_is_refused(service: Service) -> None:
    """A reader that was misunderstood would be given other people's hashes."""
    service.created(tags=["wiki"])
    before = counter(service.app)
    for query, named in {
        "tag=": "tag: must not be empty",
        "tag=wiki&tag=mail": "tag: is given more than once",
        "since=&since=": "since: is given more than once",
        "tags=wiki": "tags: is not a parameter",
        "tag=%FF": "query: cannot be read: The parameters are not percent-encoded UTF-8.",
        "tag=%ED%A0%80": "query: cannot be read: The parameters are not percent-encoded UTF-8.",
        "tag=%00": "query: cannot be read: The parameters hold control characters.",
        "tag=a%E2%80%8Bb": "tag: has an invisible character",
        "tag=a%E2%80%AEb": "tag: has an invisible character",
        "tag=+wiki": "tag: ' wiki' begins or ends with a space",
        "tag=" + "x" * 65: "tag: longer than 64 characters",
        "%00%0A=x": "query: cannot be read: The parameters hold control characters.",
        "%E2%80%AE=x": "is not a parameter",
        "&".join(["since="] * 65): "query: cannot be read: The request has too many parameters.",
    }.items():
        answer = service.call("GET", ACCOUNTS, query_string=query)
        assert named in refusal(answer), query
        assert answer.json["error"].isprintable()
    assert counter(service.app) == before


def test_services_lists_the_tags_of_active_services(app: Flask, service: Service) -> None:
    """Contract, section 4.9."""
    register(app, "Почта", "--service-tag", "почта")
    register(app, "Without a tag")
    gone = register(app, "Gone", "--service-tag", "gone")
    run(app, "application", "deactivate", gone.client.client_id)
    answer = service.call("GET", "/api/services")
    assert json.loads(answer.text) == {
        "services": [{"tag": "wiki", "name": "Wiki"}, {"tag": "почта", "name": "Почта"}]
    }
    assert rows(app, "SELECT * FROM idsync_pull") == []

"""Only active applications with a secret and the right `accounts` get in (contract, section 5)."""

import base64
from collections.abc import Iterator
from typing import Any

from flask import Flask

import hosting
from account_api.calling import ACCOUNTS, SERVICES, Service, basic, counter, register, rows, run

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", ACCOUNTS, {}),
    ("POST", ACCOUNTS, {"json": {"name": "Eve"}}),
    ("POST", f"{ACCOUNTS}/ada", {"json": {"disabled": True}}),
    ("GET", SERVICES, {}),
]


def refused_headers(app: Flask, service: Service) -> Iterator[tuple[str, str | None]]:
    """Every kind of credentials that is not enough, with its name."""
    client_id, secret = service.client.basic
    yield "none", None
    yield "empty", ""
    yield "the scheme alone", "Basic"
    yield "wrong secret", basic(client_id, "wrong")
    yield "the secret in another case", basic(client_id, secret.upper())
    yield "no secret", basic(client_id, "")
    yield "unknown application", basic("app_000000000000000000000000", secret)
    yield "an id with NUL", basic("app_\0", secret)
    yield "not base64", "Basic %%%"
    yield "no colon", "Basic " + base64.b64encode(client_id.encode()).decode()
    yield "not UTF-8", "Basic " + base64.b64encode(b"\xff:\xff").decode()
    yield "not ASCII", "Basic é"
    yield "something after it", basic(client_id, secret) + " again"
    yield "bearer", f"Bearer {secret}"
    yield "another scheme", f"Digest username={client_id}"
    other = hosting.register_application(app, "Signs in only")
    yield "lacks the right", basic(*other.basic)
    public = hosting.register_application(app, "Public", "--public")
    yield "public, has no secret", basic(public.client_id, "")
    yield "public, with a secret made up", basic(public.client_id, "secret")
    inactive = register(app, "Inactive").client
    run(app, "application", "deactivate", inactive.client_id)
    yield "inactive", basic(*inactive.basic)
    former = register(app, "Former").client
    run(app, "application", "edit", former.client_id, "--no-accounts")
    yield "the right was taken away", basic(*former.basic)
    rotated = register(app, "Rotated").client
    run(app, "application", "rotate-secret", rotated.client_id)
    yield "the secret was replaced", basic(*rotated.basic)


def check_refusal(answer: Any) -> None:
    assert answer.status_code == 401
    assert answer.mimetype == "application/json"
    assert set(answer.json) == {"error", "error_description"}
    assert answer.json["error"] == "invalid_client"
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer.headers


def test_every_reason_to_refuse_is_401_invalid_client(app: Flask, service: Service) -> None:
    """At every call, with a Basic challenge, and nothing has happened afterwards."""
    service.created(id="ada")
    before = counter(app)
    program = app.test_client()
    for name, header in refused_headers(app, service):
        headers = {} if header is None else {"Authorization": header}
        for method, path, options in CALLS:
            answer = program.open(path, method=method, headers=headers, **options)
            assert answer.status_code == 401, (name, method, path)
            check_refusal(answer)
    assert counter(app) == before
    assert rows(app, "SELECT * FROM idsync_pull") == []


def test_credentials_in_the_body_or_the_address_are_none(app: Flask, service: Service) -> None:
    """They would stand in logs; the account API knows the Basic header only."""
    client_id, secret = service.client.basic
    fields = {"client_id": client_id, "client_secret": secret}
    program = app.test_client()
    check_refusal(program.post(ACCOUNTS, data=fields))
    check_refusal(program.post(ACCOUNTS, json={"name": "Eve", **fields}))
    check_refusal(program.get(ACCOUNTS, query_string=fields))


def test_a_signed_in_administrator_is_no_service(app: Flask, service: Service) -> None:
    """No cookie is looked at."""
    person = hosting.add_person(app, "Ada", "ada@example.org", "correct horse", "--administrator")
    browser = app.test_client()
    assert hosting.sign_in(browser, person).status_code == 303
    for method, path, options in CALLS:
        check_refusal(browser.open(path, method=method, **options))


def test_nobody_learns_what_is_wrong_with_a_request_before_saying_who_they_are(
    app: Flask, service: Service
) -> None:
    """Not even whether an account exists, or a body can be read."""
    service.created(id="ada")
    program = app.test_client()
    for path in (ACCOUNTS, f"{ACCOUNTS}/ada", f"{ACCOUNTS}/nobody", f"{ACCOUNTS}/a b"):
        for body in (b"", b"\xff", b"{" * 100_000):
            check_refusal(program.post(path, data=body, content_type="application/json"))
    check_refusal(program.get(ACCOUNTS, query_string="tag=%FF&tag=x"))


def test_the_scheme_is_read_without_case_and_credentials_percent_decoded(
    app: Flask, service: Service
) -> None:
    """RFC 9110 §11.1, RFC 6749 §2.3.1."""
    client_id, secret = service.client.basic
    for header in (
        basic(client_id, secret).replace("Basic", "bASIC"),
        basic(client_id.replace("_", "%5F"), secret.replace("_", "%5f")),
    ):
        answer = app.test_client().get(SERVICES, headers={"Authorization": header})
        assert answer.status_code == 200


def test_an_application_that_is_activated_again_gets_in(app: Flask, service: Service) -> None:
    """Nothing is cached."""
    client_id = service.client.client_id
    for command, status in (("deactivate", 401), ("activate", 200)):
        run(app, "application", command, client_id)
        assert service.list().status_code == status

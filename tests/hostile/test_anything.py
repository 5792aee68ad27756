"""Whatever is sent, in whatever combination: what every answer keeps (see `target.py`).

`nox -s tests` tries a few dozen requests for each property, `nox -s proof` thousands.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

import hosting
from hostile.strategies import (
    authorization_queries,
    field,
    forms,
    header_values,
    headers,
    token_bodies,
    values,
)
from hostile.target import (
    DOCUMENTS,
    FORM,
    MACHINE,
    Target,
    check_decency,
    check_machine_answer,
    send,
)

FEW, MANY = 60, 2000  # requests
EFFORTS = pytest.mark.parametrize(
    "effort", [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.proof)]
)


def try_everything(effort: int, **strategies: Any) -> Callable[[Callable[..., None]], None]:
    """Call the decorated function with drawn values, `effort` times, at once."""

    def run(check: Callable[..., None]) -> None:
        quick = settings(
            max_examples=effort, deadline=None, suppress_health_check=list(HealthCheck)
        )
        quick(given(**strategies)(check))()

    return run


@EFFORTS
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("signed_in", [False, True], ids=["stranger", "signed in"])
def test_authorize_sends_nobody_to_a_foreign_address(
    target: Target, method: str, signed_in: bool, effort: int
) -> None:
    """A Location is a path of ours or begins with a registered address, whoever is there."""
    browser = target.browser()
    path, _, query = hosting.authorize_path(target.application, prompt="consent").partition("?")
    location = browser.post(path, data=query, content_type=FORM).headers["Location"]
    pending = location.partition("pending=")[2]

    @try_everything(effort, query=authorization_queries(target, pending), more=headers)
    def check(query: bytes, more: dict[str, bytes]) -> None:
        more.pop("Cookie", None)
        more.pop("Content-Type", None)
        where: Any = {"query" if method == "GET" else "body": query}
        client = browser if signed_in else target.stranger()
        response = send(client, method, "/oauth/authorize", headers=more, **where)
        check_decency(response)
        assert response.status_code in (200, 302, 303, 400)
        if signed_in and response.headers.get("Location", "").startswith("/sign-in"):
            # The request asked for a fresh sign-in, and the session was set aside for it.
            hosting.sign_in(browser, target.person)


@EFFORTS
def test_the_token_endpoint_answers_by_the_book(target: Target, effort: int) -> None:
    """JSON with an error of RFC 6749, never cached, readable from any origin."""
    browser = target.browser()
    code = target.new_code(browser)
    tokens = target.new_tokens(browser)
    authorizations = st.one_of(
        st.none(),
        header_values,
        header_values.map(lambda value: b"Basic " + value),
        st.just(b"Bearer " + tokens["access_token"].encode()),
    )

    @try_everything(
        effort,
        body=token_bodies(target, code, tokens["refresh_token"]),
        authorization=authorizations,
        more=headers,
    )
    def check(body: bytes, authorization: bytes | None, more: dict[str, bytes]) -> None:
        if authorization is not None:
            more = {**more, "Authorization": authorization}
        response = send(target.stranger(), "POST", "/oauth/token", body=body, headers=more)
        check_machine_answer(response, "/oauth/token")
        assert response.status_code in (200, 400, 401)


@EFFORTS
def test_userinfo_answers_by_the_book(target: Target, effort: int) -> None:
    """The claims, or a challenge of RFC 6750."""
    token = target.new_tokens(target.browser())["access_token"]
    spoilt = st.tuples(st.integers(0, len(token) - 1), st.integers(0x21, 0x7E)).map(
        lambda change: token[: change[0]] + chr(change[1]) + token[change[0] + 1 :]
    )
    tokens = st.one_of(spoilt, st.just(token), st.text(max_size=60)).map(
        lambda text: text.encode(errors="replace")
    )
    authorizations = st.one_of(
        st.none(),
        header_values,
        st.tuples(st.sampled_from([b"Bearer ", b"bearer\t", b"BEARER  "]), tokens).map(b"".join),
    ).filter(lambda value: value is None or not {0x0A, 0x0D} & set(value))

    @try_everything(
        effort,
        method=st.sampled_from(["GET", "POST"]),
        body=forms(field("access_token", token, token[:-1])),
        authorization=authorizations,
        more=headers,
    )
    def check(
        method: str, body: bytes, authorization: bytes | None, more: dict[str, bytes]
    ) -> None:
        if authorization is not None:
            more = {**more, "Authorization": authorization}
        response = send(target.stranger(), method, "/oauth/userinfo", body=body, headers=more)
        check_machine_answer(response, "/oauth/userinfo")
        assert response.status_code in (200, 400, 401)
        if response.status_code == 200:
            assert token.encode() in (authorization or b"") + body
            assert response.json["sub"] == target.person.id


@EFFORTS
def test_the_consent_form_agrees_to_nothing_it_was_not_given(target: Target, effort: int) -> None:
    """A code is issued for the form as it was shown and `decision=allow`, not otherwise."""
    browser = target.browser()
    address = hosting.authorize_path(target.application, prompt="consent")
    fields = hosting.hidden_fields(browser.get(address).text)

    @try_everything(
        effort,
        body=forms(
            field("csrf_token", fields["csrf_token"]),
            field("pending", fields["pending"], fields["pending"][:-1]),
            field("decision", "allow", "deny", "Allow"),
        ),
    )
    def check(body: bytes) -> None:
        response = send(browser, "POST", "/oauth/consent", body=body)
        check_decency(response)
        assert response.status_code in (303, 400)
        if "code=" in response.headers.get("Location", ""):
            assert b"decision=allow" in body
            assert fields["pending"].encode() in body


@EFFORTS
def test_the_sign_in_page_lets_nobody_in_by_accident(target: Target, effort: int) -> None:
    """Only the right e-mail address with the right password; and then to a path of ours."""
    client = target.app.test_client()
    person = target.person
    token = hosting.hidden_fields(client.get("/sign-in").text)["csrf_token"]

    @try_everything(
        effort,
        body=forms(
            field("csrf_token", token),
            field("email", person.email, person.email.upper()),
            field("password", person.password, person.password.upper()),
        ),
        query=values,
    )
    def check(body: bytes, query: bytes) -> None:
        response = send(client, "POST", "/sign-in", body=body, query=b"next=" + query)
        check_decency(response)
        assert response.status_code in (303, 400, 422)
        if response.status_code == 303:
            assert quote(person.password, safe="").encode() in body
            client.post("/sign-out", data={"csrf_token": token})


@EFFORTS
def test_any_request_to_any_address_is_answered(target: Target, effort: int) -> None:
    """Method, path, query, headers and body alike."""
    known = (*MACHINE, "/", "/sign-in", "/sign-out", "/oauth/consent", "/oauth/static/idsync.css")
    paths = st.one_of(
        st.sampled_from(known),
        st.tuples(st.sampled_from(known), st.text(max_size=5)).map("".join),
        st.text(max_size=20).map(lambda text: f"/{text}"),
    )

    @try_everything(
        effort,
        method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"]),
        path=paths,
        query=st.one_of(values, forms(field("next", "/"))),
        body=st.one_of(st.binary(max_size=60), forms(field("token"))),
        more=headers,
    )
    def check(method: str, path: str, query: bytes, body: bytes, more: dict[str, bytes]) -> None:
        more = {"Content-Length": str(len(body)).encode(), **more}
        response = send(target.stranger(), method, path, query=query, body=body, headers=more)
        check_known(response, path)
        response.close()  # a style sheet comes from a file


def check_known(response: TestResponse, path: str) -> None:
    """What is kept at an address, be it a program's or a person's."""
    if path in MACHINE and response.request.method != "TRACE":
        check_machine_answer(response, path)
    elif response.status_code == 308:  # doubled slashes are put right by Werkzeug
        assert "evil.example" not in response.headers["Location"].partition("?")[0]
    else:
        check_decency(response)
    if path in DOCUMENTS and response.request.method == "GET":
        assert response.status_code == 200

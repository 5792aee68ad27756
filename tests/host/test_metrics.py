"""Figures for Prometheus: what is counted, and who may read it."""

import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from host_app import create_app
from host_app.models import identity
from idsync import ConfigurationError

TOKEN = "t" * 40


@pytest.fixture
def counting(database_url: str) -> Iterator[Flask]:
    app = hosting.make_host(
        database_url, HOST_METRICS=True, HOST_METRICS_TOKEN=TOKEN, **hosting.NO_LIMITS
    )
    yield app
    hosting.close_host(app)


def figures(client: FlaskClient) -> dict[str, float]:
    """Every sample of ours by its name and labels."""
    text = client.get("/metrics").text
    found = re.findall(r"^(identity_[\w]+(?:\{.*\})?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_there_are_none_by_default(client: FlaskClient) -> None:
    assert client.get("/metrics").status_code == 404


def test_requests_are_counted_by_route_and_status(counting: Flask) -> None:
    """By the rule, or every account and every made-up address would be a series of its own."""
    client = counting.test_client()
    for number in range(3):
        client.post(f"/api/service/accounts/{number}")
        client.get(f"/nothing/{number}")
    client.open("/sign-in", method="BREW")
    found = figures(client)
    account = 'route="/api/service/accounts/<account_id>",status="401"'
    assert found[f'identity_requests_total{{method="POST",{account}}}'] == 3
    assert found['identity_requests_total{method="GET",route="none",status="404"}'] == 3
    assert found['identity_requests_total{method="other",route="none",status="405"}'] == 1
    assert found['identity_request_seconds_count{method="GET",route="none"}'] == 3


def test_sign_ins_grants_refreshes_and_pulls_are_counted(counting: Flask) -> None:
    person = hosting.add_person(counting)
    application = hosting.register_application(counting, "Ours", "--first-party", "--accounts")
    client, program = counting.test_client(), counting.test_client()
    hosting.sign_in(client, person, password="a wrong one")
    hosting.sign_in(client, person)
    location = hosting.authorize(client, application, person).headers["Location"]
    form = {
        "grant_type": "authorization_code",
        "code": location.partition("code=")[2].partition("&")[0],
        "redirect_uri": application.redirect_uri,
    }
    tokens = program.post("/oauth/token", data=form, auth=application.basic).json
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    program.post("/oauth/token", data=form, auth=application.basic)
    program.post("/oauth/token", data=form, auth=application.basic)  # a replay
    pulled = program.get("/api/service/accounts", auth=application.basic, buffered=True)
    again = {"If-None-Match": pulled.headers["ETag"]}
    program.get("/api/service/accounts", auth=application.basic, headers=again)
    program.get("/api/service/accounts")
    found = figures(client)
    assert {
        name: found[f"identity_{name}"]
        for name in (
            "sign_ins_total",
            "sign_in_failures_total",
            "grants_issued_total",
            "grants_redeemed_total",
            "refreshes_total",
            "grants_revoked_total",
            'pulls_total{answer="accounts"}',
            'pulls_total{answer="nothing new"}',
            'pulls_total{answer="refused"}',
            "directory_revision",
            "deliveries_outstanding",
        )
    } == {
        "sign_ins_total": 1,
        "sign_in_failures_total": 1,
        "grants_issued_total": 1,
        "grants_redeemed_total": 1,
        "refreshes_total": 1,
        "grants_revoked_total": 1,
        'pulls_total{answer="accounts"}': 1,
        'pulls_total{answer="nothing new"}': 1,
        'pulls_total{answer="refused"}': 1,
        "directory_revision": 1,
        "deliveries_outstanding": 0,
    }


def test_failures_are_counted_where_the_audit_log_notes_no_more(counting: Flask) -> None:
    """The log has room for twenty an hour of one account; an alarm must see the others too."""
    person = hosting.add_person(counting)
    with counting.test_request_context():
        user = identity.find_user(person.email)
        for _ in range(25):
            assert not identity.check_password(user, "a wrong one")
    with counting.app_context():
        assert identity.audit.count(kind="sign-in failed") == 20
    assert figures(counting.test_client())["identity_sign_in_failures_total"] == 25


def status(app: Flask, address: str, **headers: str) -> int:
    client = app.test_client()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    environ = {"REMOTE_ADDR": address}
    return client.get("/metrics", environ_base=environ, headers=given).status_code


@pytest.mark.parametrize(
    ("address", "headers", "wanted"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("::ffff:127.0.0.1", {}, 200),
        ("203.0.113.9", {}, 404),
        ("", {}, 404),
        ("203.0.113.9", {"Authorization": f"Bearer {TOKEN}"}, 200),
        ("203.0.113.9", {"Authorization": f"Bearer {TOKEN}x"}, 404),
        ("203.0.113.9", {"Authorization": f"Basic {TOKEN}"}, 404),
        # A proxy on this machine that nobody told of: everybody seems to be here.
        ("127.0.0.1", {"X_Forwarded_For": "203.0.113.9"}, 404),
        ("127.0.0.1", {"Forwarded": "for=203.0.113.9"}, 404),
    ],
)
def test_they_are_for_this_machine_or_by_the_token(
    counting: Flask, address: str, headers: dict[str, str], wanted: int
) -> None:
    assert status(counting, address, **headers) == wanted


def test_behind_a_proxy_the_visitor_s_address_counts(database_url: str) -> None:
    settings = {"HOST_METRICS_NETWORKS": ["10.1.2.0/24"], "HOST_PROXIES": 1}
    config = hosting.configuration(database_url, HOST_METRICS=True, **settings)
    with hosting.host(config) as app:
        assert status(app, "127.0.0.1", X_Forwarded_For="203.0.113.9") == 404
        assert status(app, "127.0.0.1", X_Forwarded_For="10.1.2.3") == 200
        assert status(app, "127.0.0.1") == 404


def test_without_a_token_none_is_right(database_url: str) -> None:
    with hosting.host(hosting.configuration(database_url, HOST_METRICS=True)) as app:
        assert status(app, "203.0.113.9", Authorization="Bearer ") == 404


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOST_METRICS", "yes"),
        ("HOST_METRICS_TOKEN", "short"),
        ("HOST_METRICS_NETWORKS", ["everywhere"]),
        ("HOST_METRICS_NETWORKS", ["10.1.2.3/8"]),
    ],
)
def test_a_wrong_setting_is_named(database_url: str, name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=name):
        create_app(hosting.configuration(database_url, **{"HOST_METRICS": True, name: value}))

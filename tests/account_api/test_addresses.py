"""Below its addresses the API speaks JSON whatever is asked, and leaves all others to the site."""

import pytest
from flask import Flask

import hosting
from account_api.calling import ACCOUNTS, SERVICES, Service, refusal

METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY".split()


def test_a_wrong_method_is_405_and_says_which_are_right(service: Service) -> None:
    """RFC 9110 §15.5.6."""
    service.created(id="ada")
    for path, right in (
        (ACCOUNTS, "GET, HEAD, POST"),
        (f"{ACCOUNTS}/ada", "POST"),
        (SERVICES, "GET, HEAD"),
        ("/api/service/openapi.json", "GET, HEAD"),
    ):
        for method in set(METHODS) - set(right.split(", ")):
            answer = service.call(method, path)
            assert answer.status_code == 405, (method, path)
            assert answer.headers["Allow"] == right
            assert answer.mimetype == "application/json"
            assert method == "HEAD" or set(answer.json) == {"error"}


def test_a_wrong_address_is_404(service: Service) -> None:
    """Whatever the method."""
    for path in (
        "/api/service/",
        "/api/service/nothing",
        "/api/service/accounts/",
        "/api/service/accounts/a/b",
        "/api/service/accounts/a%2Fb",
        "/api/service/accounts/../../x",
        "/api/service/%00",
        "/api/service/%FF",
        "/api/services/",
        "/api/services/wiki",
    ):
        for method in ("GET", "POST", "DELETE"):
            assert refusal(service.call(method, path), 404), path


def test_other_addresses_are_the_sites_own(service: Service) -> None:
    """A site may have an API of its own."""
    answer = service.call("GET", "/api/other")
    assert answer.status_code == 404
    assert answer.mimetype == "text/html"


@pytest.mark.parametrize("accounts", ["/people", "/v1/people"])
def test_the_api_can_be_moved(database_url: str, accounts: str) -> None:
    """At the root as well, where other wrong addresses still are the site's."""
    app = hosting.make_host(
        database_url, IDSYNC_ACCOUNTS_PATH=accounts, IDSYNC_SERVICES_PATH="/v1/services"
    )
    service = Service(app, hosting.register_application(app, "Wiki", "--accounts"))
    created = service.call("POST", accounts, json={"name": "Ada"})
    assert created.status_code == 201
    assert service.call("POST", f"{accounts}/{created.json['id']}", json={}).status_code == 200
    assert service.call("GET", "/v1/services").status_code == 200
    description = service.call("GET", f"{accounts.removesuffix('/people')}/openapi.json").json
    assert set(description["paths"]) == {accounts, f"{accounts}/{{id}}", "/v1/services"}
    assert refusal(service.call("GET", f"{accounts}/a/b"), 404)
    assert service.call("GET", "/nothing").mimetype == "text/html"
    assert service.call("GET", ACCOUNTS).mimetype == "text/html"
    hosting.close_host(app)


def test_no_browser_of_another_site_can_call_it(app: Flask, service: Service) -> None:
    """No CORS: a program has no origin."""
    for path in (ACCOUNTS, SERVICES):
        answer = service.call("GET", path, headers={"Origin": "https://evil.example"})
        assert not [name for name in dict(answer.headers) if name.startswith("Access-Control")]
        assert service.call("OPTIONS", path).status_code == 405

"""oauth4webapi, a strict client for JavaScript, against the running service."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests

import hosting
from live import LiveHost, authorize, visit
from npm_packages import installed

PACKAGE = Path(__file__).with_name("oauth4webapi")
SCRIPT = "sign_in.mjs"
BYE = "https://app.example.org/bye"


@pytest.fixture(scope="session")
def package(request: pytest.FixtureRequest) -> Path:
    """A folder with the script and the library installed beside it."""
    return installed(request.config.cache, PACKAGE)


def run_client(
    package: Path, config: dict[str, Any], browser: requests.Session, resident: hosting.Person
) -> dict[str, Any]:
    """Run the script, be the browser in the middle, and give what it learned."""
    with subprocess.Popen(
        ["node", SCRIPT, json.dumps(config)],
        cwd=package,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as script:
        assert script.stdout is not None
        # The script has a deadline of its own, so neither read waits for ever.
        address = script.stdout.readline().strip()
        called_back = authorize(browser, address, resident) if address else ""
        learned, refusal = script.communicate(called_back + "\n")
    assert script.returncode == 0, refusal
    return dict(json.loads(learned))


@pytest.mark.parametrize(
    ("authentication", "options"),
    [
        ("client_secret_basic", ("--id-token-alg", "RS256")),
        ("client_secret_post", ("--id-token-alg", "ES256")),
        ("none", ("--public",)),
    ],
)
def test_a_strict_client_is_satisfied(
    package: Path,
    service: LiveHost,
    resident: hosting.Person,
    browser: requests.Session,
    authentication: str,
    options: tuple[str, ...],
) -> None:
    """Discovery, code with PKCE, iss, id_token by the published keys, userinfo, refresh,
    revocation, and the logout address that discovery names.
    """
    bye = ("--post-logout-redirect-uri", BYE)
    application = hosting.register_application(service.app, "oauth4webapi", *bye, *options)
    config = {
        "issuer": service.url,
        "client_id": application.client_id,
        "client_secret": application.client_secret,
        "authentication": authentication,
        "redirect_uri": application.redirect_uri,
        "post_logout_redirect_uri": BYE,
        "scope": application.scope,
    }
    learned = run_client(package, config, browser, resident)
    assert learned["claims"]["sub"] == resident.id
    assert learned["claims"]["name"] == resident.name
    assert learned["scope"] == application.scope
    assert learned["userinfo"]["email"] == resident.email
    assert learned["refreshed"]["auth_time"] == learned["claims"]["auth_time"]
    assert learned["replaced"]
    assert learned["revoked"] == "invalid_grant"
    assert visit(browser, learned["logout"]).headers["Location"] == f"{BYE}?state=s-1"
    assert 'name="password"' in visit(browser, f"{service.url}/security").text

"""oauth4webapi, a strict client for JavaScript, against the running service.

The library is installed with `npm ci` from `oauth4webapi/package-lock.json`, once, into pytest's
cache. Without Node.js there is nothing to run: a skip, and with CI=true a failure.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest
import requests

import hosting
from live import LiveHost, authorize

PACKAGE = Path(__file__).with_name("oauth4webapi")
INSTALLED_FROM = ("package.json", "package-lock.json", ".npmrc")
SCRIPT = "sign_in.mjs"
INSTALLATION_TIME = 120  # seconds


def give_up(reason: str) -> NoReturn:
    """Skip, or fail where the machine is meant to have everything."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def package(request: pytest.FixtureRequest) -> Path:
    """A folder with the script and the library installed beside it."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        give_up("oauth4webapi needs Node.js 20 or newer, with npm")
    digest = hashlib.sha256(b"".join((PACKAGE / name).read_bytes() for name in INSTALLED_FROM))
    folder = request.config.cache.mkdir(f"oauth4webapi-{digest.hexdigest()[:16]}")
    installed = folder / "installed"
    if not installed.exists():
        for name in INSTALLED_FROM:
            shutil.copy(PACKAGE / name, folder)
        npm = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALLATION_TIME,
        )
        if npm.returncode != 0:
            give_up(f"npm could not install oauth4webapi: {npm.stderr.strip()}")
        installed.touch()
    shutil.copy(PACKAGE / SCRIPT, folder)
    return Path(folder)


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
    """Discovery, code with PKCE, iss, id_token by the published keys, userinfo, refresh."""
    application = hosting.register_application(service.app, "oauth4webapi", *options)
    config = {
        "issuer": service.url,
        "client_id": application.client_id,
        "client_secret": application.client_secret,
        "authentication": authentication,
        "redirect_uri": application.redirect_uri,
        "scope": application.scope,
    }
    learned = run_client(package, config, browser, resident)
    assert learned["claims"]["sub"] == resident.id
    assert learned["claims"]["name"] == resident.name
    assert learned["scope"] == application.scope
    assert learned["userinfo"]["email"] == resident.email
    assert learned["refreshed"]["auth_time"] == learned["claims"]["auth_time"]
    assert learned["replaced"]

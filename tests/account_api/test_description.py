"""The served description is valid OpenAPI 3.1, and the service keeps to it whatever is sent."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig
from werkzeug.wsgi import ClosingIterator

import hosting
from account_api.calling import ACCOUNTS, SERVICES, Service, a_hash, register
from idsync.account_api import wire
from live import live_database, live_host

DESCRIPTION = "/api/service/openapi.json"
CONFIGURATION = """
# A description cannot say that an address must be free, nor that a name is more than spaces.
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "304", "400", "404"]

# Credentials are for test_authentication.py. Left to itself, schemathesis takes them away and puts
# them back before it sends a request, and wonders that it is accepted.
[generation]
with-security-parameters = false

[warnings]
enabled = false
"""

schemathesis.openapi.format("idn-email", st.emails())


@pytest.fixture
def schema(service: Service) -> Any:
    """The description as it is served."""
    name, secret = service.client.basic
    config = SchemathesisConfig.from_dict(
        {**tomllib.loads(CONFIGURATION), "auth": {"basic": {"username": name, "password": secret}}}
    )
    service.created(id="0", email="0@example.org", password=a_hash())
    return schemathesis.openapi.from_wsgi(DESCRIPTION, read_whole(service.app), config=config)


def read_whole(app: Flask) -> Callable[..., list[bytes]]:
    """The application behind a server that closes what it has sent; schemathesis does not."""

    def application(environ: Any, start_response: Any) -> list[bytes]:
        with closing(ClosingIterator(app(environ, start_response))) as body:
            return list(body)

    return application


def test_it_is_valid_and_names_every_call(schema: Any) -> None:
    """By the specification's own schema; addresses are the configured ones."""
    assert schema.raw_schema["openapi"] == "3.1.0"
    schema.validate()
    operations = {result.ok().label for result in schema.get_all_operations()}
    assert operations == {
        f"GET {ACCOUNTS}",
        f"POST {ACCOUNTS}",
        f"POST {ACCOUNTS}/{{id}}",
        f"GET {SERVICES}",
    }
    assert schema.raw_schema["servers"] == [{"url": hosting.ISSUER}]


def test_it_needs_no_credentials_and_shows_nothing_secret(app: Flask) -> None:
    """It is the same for everybody."""
    assert app.test_client().get(DESCRIPTION).status_code == 200


def test_an_account_is_described_as_the_contract_has_it(schema: Any) -> None:
    """Section 2: exactly these fields, in every answer that has an account."""
    described = schema.raw_schema["components"]["schemas"]["AccountOut"]
    contract = "id name email tags roles disabled mfa password updated_at".split()
    assert list(described["properties"]) == described["required"] == contract
    assert list(wire.AccountOut.__struct_fields__) == contract


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_sound_and_unsound_requests_are_answered_as_described(
    schema: Any, mode: GenerationMode
) -> None:
    """Statuses, headers and bodies; nothing unsound is accepted, nothing fails."""
    for result in schema.get_all_operations():
        operation = result.ok()
        if mode is GenerationMode.NEGATIVE and operation.path == SERVICES:
            continue  # it takes nothing that could be wrong
        check_operation(operation, mode)


def check_operation(operation: Any, mode: GenerationMode) -> None:
    @seed(1)
    @settings(
        max_examples=40,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        case.call_and_validate()

    check()


@pytest.fixture
def running(database_server: str | None, tmp_path: Path) -> Iterator[Service]:
    """A service of a running host; its address is the issuer."""
    with live_database(database_server, tmp_path) as url, live_host(url, tmp_path) as host:
        yield register(host.app, "Wiki", "--service-tag", "wiki")


@pytest.mark.proof
def test_schemathesis_finds_nothing_in_a_running_service(running: Service, tmp_path: Path) -> None:
    """All it can do: the edges of each schema, fuzzing, and calls that build on others."""
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    (tmp_path / "hooks.py").write_text(
        "import schemathesis\nfrom hypothesis import strategies as st\n"
        'schemathesis.openapi.format("idn-email", st.emails())\n'
    )
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("schemathesis"), "--no-color", "run"),
            running.app.config["IDSYNC_ISSUER"] + DESCRIPTION,
            *("--auth", ":".join(running.client.basic), "--max-examples", "300", "--seed", "1"),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr

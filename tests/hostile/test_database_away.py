"""A database that is away: 503 meanwhile, and everything works again by itself afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from sqlalchemy import make_url

import hosting
from hostile.gate import Gate, terminate_connections
from hostile.target import CHALLENGE, VERIFIER
from live import LiveHost, live_database, live_host, submit, visit

ON_POSTGRESQL = pytest.mark.parametrize("database_server", ["postgresql"], indirect=True)
TIMEOUT = 20  # seconds until a request counts as unanswered


@dataclass(frozen=True)
class Service:
    """A running host, the gate before its database, and the database's own address."""

    host: LiveHost
    gate: Gate
    database_url: str


@contextmanager
def relayed_database(server: str | None, folder: Path) -> Iterator[tuple[str, str, Gate]]:
    """A database: its own address, the one through the gate, and the gate."""
    with live_database(server, folder) as url:
        parsed = make_url(url)
        with Gate((parsed.host or "127.0.0.1", parsed.port or 5432)) as gate:
            through = parsed.set(host="127.0.0.1", port=gate.port)
            yield url, through.render_as_string(hide_password=False), gate


@pytest.fixture
def service(database_server: str | None, tmp_path: Path) -> Iterator[Service]:
    with (
        relayed_database(database_server, tmp_path) as (url, address, gate),
        live_host(url, tmp_path, reached_through=address) as host,
    ):
        yield Service(host, gate, url)


class Visitor:
    """A person's browser and an application, in the middle of everything one can be in."""

    def __init__(self, host: LiveHost, browser: requests.Session) -> None:
        self.url, self.browser = host.url, browser
        self.person = hosting.add_person(host.app)
        self.application = hosting.register_application(host.app, "Ours", "--first-party")
        self.consent_address = self.url + hosting.authorize_path(self.application, prompt="consent")
        page = visit(browser, self.url + "/sign-in")
        fields = {"email": self.person.email, "password": self.person.password}
        assert submit(browser, page, fields).status_code == 200
        self.tokens = self.exchange(self.code_from(self.authorize())).json()
        self.code = self.code_from(self.authorize())
        self.consent_page = visit(browser, self.consent_address)

    def authorize(self) -> requests.Response:
        path = hosting.authorize_path(self.application, code_challenge=CHALLENGE)
        return self.browser.get(self.url + path, allow_redirects=False, timeout=TIMEOUT)

    def agree(self) -> requests.Response:
        return self.browser.post(
            self.url + "/oauth/consent",
            data={**hosting.hidden_fields(self.consent_page.text), "decision": "allow"},
            headers={"Referer": self.consent_address},
            allow_redirects=False,
            timeout=TIMEOUT,
        )

    def exchange(self, code: str) -> requests.Response:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.application.redirect_uri,
            "code_verifier": VERIFIER,
        }
        return self.post("/oauth/token", form, self.application.basic)

    def refresh(self) -> requests.Response:
        form = {"grant_type": "refresh_token", "refresh_token": self.tokens["refresh_token"]}
        answer = self.post("/oauth/token", form, self.application.basic)
        if answer.status_code == 200:
            self.tokens = answer.json()
        return answer

    def userinfo(self) -> requests.Response:
        return self.post("/oauth/userinfo", {"access_token": self.tokens["access_token"]})

    def post(
        self, path: str, form: dict[str, str], auth: tuple[str, str] | None = None
    ) -> requests.Response:
        return requests.post(self.url + path, data=form, auth=auth, timeout=TIMEOUT)

    def start_page(self) -> requests.Response:
        return self.browser.get(self.url + "/", timeout=TIMEOUT)

    @staticmethod
    def code_from(answer: requests.Response) -> str:
        return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


@ON_POSTGRESQL
def test_the_service_says_503_while_the_database_is_away_and_recovers_by_itself(
    service: Service,
) -> None:
    """Programs get JSON, people a page, both `Retry-After`; nothing that was begun is lost."""
    with requests.Session() as browser:
        visitor = Visitor(service.host, browser)
        for _ in range(2):
            service.gate.shut()
            for _ in range(3):  # both workers, with and without connections to lose
                check_away(visitor)
            service.gate.open()
            check_back(visitor)
    log = service.host.log.read_text()
    assert "The database did not answer" in log
    assert "WORKER TIMEOUT" not in log


def check_away(visitor: Visitor) -> None:
    """Whatever needs the database answers 503, and says when to come again."""
    machine = [visitor.exchange(visitor.code), visitor.refresh(), visitor.userinfo()]
    for answer in machine:
        assert answer.status_code == 503
        assert answer.json()["error"] == "temporarily_unavailable"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Cache-Control"] == "no-store"
    pages = [visitor.authorize(), visitor.agree(), visitor.start_page()]
    for answer in pages:
        assert answer.status_code == 503, answer.url
        assert answer.headers["Content-Type"].startswith("text/html")
    for answer in machine + pages:
        assert int(answer.headers["Retry-After"]) > 0
        for inside in ("Traceback", "psycopg", "sqlalchemy", "127.0.0.1", "OperationalError"):
            assert inside not in answer.text
    document = requests.get(visitor.url + "/.well-known/openid-configuration", timeout=TIMEOUT)
    assert document.status_code == 200


def check_back(visitor: Visitor) -> None:
    """The very next requests are answered, and the code, token and form of before still work."""
    assert visitor.exchange(visitor.code).status_code == 200
    assert visitor.refresh().status_code == 200
    assert visitor.userinfo().status_code == 200
    assert "code=" in visitor.agree().headers["Location"]
    assert visitor.person.name in visitor.start_page().text
    visitor.code = visitor.code_from(visitor.authorize())


@ON_POSTGRESQL
def test_connections_cut_while_nobody_used_them_cause_no_error(service: Service) -> None:
    """A restarted database, or a firewall that forgets: the first request after it works."""
    with requests.Session() as browser:
        visitor = Visitor(service.host, browser)
        for cut in (service.gate.cut, lambda: terminate_connections(service.database_url)):
            for _ in range(4):
                check_back(visitor)
                cut()
                assert visitor.userinfo().status_code == 200
                cut()
                assert visitor.refresh().status_code == 200
                cut()
                assert "code=" in visitor.authorize().headers["Location"]
                cut()
                assert "code=" in visitor.agree().headers["Location"]
                cut()
                assert visitor.person.name in visitor.start_page().text
                cut()
    assert "Traceback" not in service.host.log.read_text()


@ON_POSTGRESQL
def test_a_host_that_starts_while_the_database_is_away_serves_when_it_is_back(
    database_server: str | None, tmp_path: Path
) -> None:
    """After a power cut, nobody knows which of the two is up first."""
    with relayed_database(database_server, tmp_path) as (url, address, gate):
        gate.shut()
        with live_host(url, tmp_path, reached_through=address) as host:
            unknown = host.url + "/oauth/authorize?client_id=app_x"
            assert requests.get(unknown, timeout=TIMEOUT).status_code == 503
            gate.open()
            assert requests.get(unknown, timeout=TIMEOUT).status_code == 400
            with requests.Session() as browser:
                check_back(Visitor(host, browser))
            assert "WORKER TIMEOUT" not in host.log.read_text()

"""What a host under gunicorn, behind nginx where there is one, writes into its logs in whole runs:
a line for everything, and no secret in any.
"""

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask_migrate
import pytest
import requests
from flask import Flask

import hosting
from account_api.calling import a_hash
from live import live_database
from mail_server import MailServer, running_mail_server
from phone_gateway import Gateway, running_gateway
from ports import free_port
from production.servers import Host, own_nginx, program
from receiver import wait_until

GUESS = "a wrong password of Ada"
NEW = "a new password of Ada"
GIVEN_ID = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Place:
    """A running host and how it is reached."""

    app: Flask
    host: Host
    url: str
    verify: str | bool
    mail: MailServer
    texts: Gateway
    nginx: Path | None


@pytest.fixture(scope="module", params=["straight", "behind nginx"])
def place(
    request: pytest.FixtureRequest,
    database_server: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    behind = request.param == "behind nginx"
    if behind and program("nginx") is None:
        pytest.skip("nginx is not installed; Debian's package is nginx-light")
    folder, port = tmp_path_factory.mktemp("earnest"), free_port()
    with (
        live_database(database_server, folder) as url,
        running_mail_server() as mail,
        running_gateway() as texts,
    ):
        host = Host(folder / "host", {})
        issuer = f"https://localhost:{port}" if behind else f"http://localhost:{host.port}"
        host.settings = hosting.configuration(
            url,
            IDSYNC_ISSUER=issuer,
            IDSYNC_MAIL_SENDER=f"smtp://127.0.0.1:{mail.port}",
            IDSYNC_MAIL_FROM="identity@example.org",
            IDSYNC_PHONE_SENDER=texts.address,
            HOST_PROXIES=int(behind),
            HOST_METRICS=True,
        )
        with hosting.host(host.settings) as app:
            with app.app_context():
                flask_migrate.upgrade()
            host.start()
            try:
                if behind:
                    with own_nginx(folder / "nginx", [host.port], port) as nginx:
                        verify = str(nginx.certificate)
                        yield Place(app, host, issuer, verify, mail, texts, nginx.folder)
                else:
                    yield Place(app, host, issuer, True, mail, texts, None)
            finally:
                host.stop()


class Run:
    """Somebody who does everything there is, and keeps each secret they were told or told."""

    def __init__(self, place: Place) -> None:
        self.place, self.secrets = place, {GUESS, NEW}
        self.browser = requests.Session()
        self.person = hosting.add_person(place.app, password="the first password of Ada")
        self.application = hosting.register_application(place.app, "Ours", "--accounts")
        self.secrets |= {self.person.password, self.application.client_secret or ""}

    def whole(self) -> None:
        """Sign-in, refresh, replay, reset, phone, account API, and what cannot be read."""
        with self.browser:
            self.sign_in(GUESS)
            self.sign_in(self.person.password)
            tokens = self.tokens()
            self.refresh(tokens)
            self.reset()
            self.phone()
            self.account_api()
            self.unreadable()
        self.secrets |= {cookie.value or "" for cookie in self.browser.cookies}

    def ask(
        self, method: str, path: str, *, by: Any = requests, **options: Any
    ) -> requests.Response:
        """One request, by a program without cookies or by the browser."""
        options |= {"verify": self.place.verify, "timeout": 30, "allow_redirects": False}
        answer: requests.Response = by.request(method, self.place.url + path, **options)
        return answer

    def get(self, path: str) -> requests.Response:
        answer = self.ask("GET", path, by=self.browser)
        self.secrets |= set(re.findall(r'name="csrf_token"[^>]*value="([^"]+)"', answer.text))
        return answer

    def send(self, path: str, fields: dict[str, str], post_to: str = "") -> requests.Response:
        page = self.get(path)
        return self.ask(
            "POST",
            post_to or path,
            by=self.browser,
            data={**hosting.hidden_fields(page.text), **fields},
            headers={"Referer": self.place.url + path},
        )

    def sign_in(self, password: str) -> None:
        self.send("/sign-in", {"email": self.person.email, "password": password})

    def tokens(self) -> dict[str, Any]:
        path = hosting.authorize_path(self.application, state="a-state-of-the-application")
        answer = self.get(path)
        while answer.headers.get("Location", "").startswith("/"):
            path = answer.headers["Location"]
            answer = self.get(path)
        if 'name="decision"' in answer.text:
            answer = self.send(path, {"decision": "allow"}, "/oauth/consent")
        code = parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]
        form = {"grant_type": "authorization_code", "code": code}
        tokens = self.token({**form, "redirect_uri": self.application.redirect_uri})
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        self.ask("GET", "/oauth/userinfo", headers=bearer)
        self.secrets |= {code, tokens["access_token"], tokens["refresh_token"], tokens["id_token"]}
        self.secrets.add("a-state-of-the-application")
        return tokens

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        answer = self.ask("POST", "/oauth/token", data=form, auth=self.application.basic)
        return dict(answer.json())

    def refresh(self, tokens: dict[str, Any]) -> None:
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        self.secrets |= {str(one) for one in self.token(form).values() if len(str(one)) > 60}
        self.token(form)  # a replay, which is worth a line of its own

    def reset(self) -> None:
        sent = len(self.place.mail.mails) + 1
        self.send("/sign-in/forgotten", {"email": self.person.email})
        link = re.search(r"/sign-in/new-password/(\S+)", self.mail(sent))
        assert link
        self.secrets.add(link[1])
        self.get(f"/sign-in/new-password/{link[1]}")
        self.get(f"/sign-in/new-password/{link[1]}/mistyped")
        self.send("/sign-in/new-password", {"new": NEW, "again": NEW})
        self.sign_in(NEW)

    def mail(self, number: int) -> str:
        return str(self.place.mail.wait_for(number).get_content())

    def phone(self) -> None:
        run = ("idsync", "account", "edit", self.person.id, "--phone", "+491701234567")
        hosting.run(self.place.app, *run)
        sent = len(self.place.texts.messages) + 1
        self.send("/sign-in/phone", {"phone": "+491701234567"})
        code = re.search(r"\d{6}", self.place.texts.wait_for(sent)["text"])
        assert code
        self.secrets.add(code[0])
        self.send("/sign-in/phone/code", {"code": code[0]})

    def account_api(self) -> None:
        path, hashed, wrong = "/api/service/accounts", a_hash(), "ids_a-wrong-secret-of-the-service"
        plain = "a plain password that is refused"
        self.secrets |= {hashed.rpartition("$")[2], wrong, plain}
        basic = self.application.basic
        body = {"name": "Bob", "email": "bob@example.org", "password": hashed}
        made = self.ask("POST", path, json=body, auth=basic).json()
        for password in (plain, a_hash()):
            self.ask("POST", f"{path}/{made['id']}", json={"password": password}, auth=basic)
        self.ask("GET", path, auth=basic)
        self.ask("GET", path, auth=(basic[0], wrong))

    def unreadable(self) -> None:
        """Requests that gunicorn itself refuses, and quotes."""
        for line in (
            "GET /?code=ac_secret-in-a-bad-line HTTP/9.9",
            "GET /x?code=ac_secret-in-a-bad",
        ):
            with socket.create_connection(("127.0.0.1", self.place.host.port), 10) as raw:
                raw.sendall(f"{line}\r\nAuthorization; Bearer at_secret-header\r\n\r\n".encode())
                raw.recv(1000)
        self.secrets |= {"secret-in-a-bad", "secret-header"}


@pytest.fixture(scope="module")
def run(place: Place) -> Run:
    run = Run(place)
    run.whole()
    return run


def lines(place: Place) -> list[dict[str, Any]]:
    """Every line of the host's log, gunicorn's own among them."""
    return [json.loads(line) for line in place.host.log.read_text().splitlines()]


def test_no_secret_is_in_any_log(place: Place, run: Run) -> None:
    """Passwords, codes, tokens, links, cookies, client secrets, hashes: whoever writes the line."""
    logs = place.host.log.read_text()
    if place.nginx is not None:
        logs += "".join(file.read_text() for file in place.nginx.glob("*.log"))
    assert len(run.secrets) > 15
    assert {one for one in run.secrets if len(one) > 5 and one in logs} == set()


def test_everything_is_a_line_of_json(place: Place, run: Run) -> None:
    """gunicorn's own too."""
    written = lines(place)
    assert {"gunicorn.error", "host_app.requests", "idsync"} <= {one["logger"] for one in written}
    refused = [one["message"] for one in written if "Invalid request" in one["message"]]
    assert len(refused) == 2
    assert all(message.startswith("Invalid request from ip=127.0.0.1: ") for message in refused)
    routes = {one["route"] for one in written if "route" in one}
    assert {"/oauth/token", "/sign-in/new-password/<link>", "/api/service/accounts"} <= routes


def test_lines_of_a_request_have_its_id(place: Place, run: Run) -> None:
    """The replay tells who; so does the line of its request."""
    replay = next(one for one in lines(place) if "replayed" in one["message"])
    same = [one for one in lines(place) if one.get("request_id") == replay["request_id"]]
    request = next(one for one in same if one["logger"] == "host_app.requests")
    assert (request["route"], request["status"]) == ("/oauth/token", 400)
    assert request["client_id"] == run.application.client_id


def test_an_id_comes_from_the_proxy_alone(place: Place, run: Run) -> None:
    """nginx makes its own, whatever a visitor sends, and its log has the same."""
    headers = {"X-Request-ID": GIVEN_ID, "X-Forwarded-For": "203.0.113.9"}
    answer = run.ask("GET", "/sign-in", headers=headers)
    own = answer.headers["X-Request-ID"]
    assert own != GIVEN_ID
    line = next(one for one in lines(place) if one.get("request_id") == own and "route" in one)
    assert line["address"] == "127.0.0.1"
    if place.nginx is not None:
        log = place.nginx / "identity.log"
        wait_until(lambda: own in log.read_text())  # nginx writes after it has answered


def test_workers_count_together(place: Place, run: Run) -> None:
    """Every worker answers with the sum, straight from this machine only."""
    straight = f"http://127.0.0.1:{place.host.port}/metrics"
    sign_ins = set()
    for _ in range(10):
        text = requests.get(straight, timeout=30, headers={"Connection": "close"}).text
        found = re.search(r"^identity_sign_ins_total (\S+)$", text, re.MULTILINE)
        assert found
        sign_ins.add(float(found[1]))
    assert sign_ins == {3.0}  # the password, the new one, the phone
    public = run.ask("GET", "/metrics")
    assert (public.status_code == 404) is (place.nginx is not None)

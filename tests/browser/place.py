"""A running service that reaches phones and mailboxes, and a person."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from selenium.webdriver import Chrome

import hosting
from browser.hand import enter, press, wait_for, write
from databases import sqlite_url
from live import LiveHost, live_host
from mail_server import MailServer, running_mail_server
from phone_gateway import Gateway, running_gateway


@dataclass
class Place:
    """The host, the phones and mailboxes it reaches, and who lives here."""

    host: LiveHost
    gateway: Gateway
    mail: MailServer
    person: hosting.Person

    def open(self, browser: Chrome, path: str) -> None:
        browser.get(self.host.url + path)

    def link(self, number: int) -> str:
        """The link in the mail with this number, counted from 1."""
        text = self.mail.wait_for(number).get_content()
        found = re.search(r"http://\S+", text)
        assert found, text
        return found[0]

    def application(self, name: str) -> hosting.Client:
        """One that is registered, and reached: a page that is not there is one as well."""
        return hosting.register_application(
            self.host.app, name, redirect_uri=f"{self.host.url}/nowhere"
        )

    def sign_in(self, browser: Chrome) -> None:
        self.open(browser, "/sign-in")
        write(browser, "email", self.person.email)
        enter(browser, "password", self.person.password, "Sign in")

    def sign_out(self, browser: Chrome) -> None:
        self.open(browser, "/")
        press(browser, "Sign out")
        wait_for(browser, "One account for all your services")


@contextmanager
def running_place(folder: Path) -> Iterator[Place]:
    """A place of one's own."""
    with (
        running_gateway() as gateway,
        running_mail_server() as mail,
        live_host(
            sqlite_url(folder),
            folder,
            IDSYNC_PHONE_SENDER=gateway.address,
            IDSYNC_MAIL_SENDER=f"smtp://127.0.0.1:{mail.port}",
            IDSYNC_MAIL_FROM="Identity service <id@example.org>",
        ) as host,
    ):
        yield Place(host, gateway, mail, hosting.add_person(host.app))

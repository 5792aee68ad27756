"""The console in Russian: no English word but names, codes and the words of protocols."""

from flask import Flask

import hosting
from account_api.calling import register
from console_kit import CONSOLE, Desk
from host.test_language import words

OF_PROTOCOLS = set(
    "API CSV ES256 NFC RFC RS256 UTC app callback client code cookie email example factor flask"
    " http https idsync key keys offline access openid org profile pwd reseal root secret tags"
    " token wiki redirect uri".split()
)


def test_a_russian_administrator_reads_russian(app: Flask, desk: Desk) -> None:
    """Every page, what is said after a change, and why something was refused."""
    person = hosting.add_person(app, "Анна", "anna@example.org", "pass word", "--tag", "wiki")
    service = register(app, "Вики", "--service-tag", "wiki")
    service.whole()
    hosting.authorize(app.test_client(), service.client, person)
    desk.browser.set_cookie("identity_language", "ru")
    one, application = f"/people/@{person.id}", f"/applications/{service.client.client_id}"
    seen = [
        desk.browser.get(CONSOLE + path).text
        for path in (
            *("", "/people", "/people?q=zzz", "/people/new", one, f"{one}/edit", f"{one}/erase"),
            *(f"{one}/reset-factors", "/applications", "/applications/new", application),
            *(f"{application}/edit", f"{application}/secret", "/keys", "/audit", "/audit?kind=x"),
        )
    ]
    for path, fields in (
        ("/people/new", {"name": "", "phone": "030", "id": "я"}),
        (f"{one}/erase", {"typed": "x"}),
        (f"{one}/edit", {"phone": "030"}),
        ("/applications/new", {"name": "Я", "redirect_uri": "http://a.example.org"}),
        ("/applications/new", {"name": "Я", "redirect_uri": "https://a.example.org/#"}),
        (f"{application}/edit", {"service_tag": "я" * 65}),
        (f"{application}/secret", {"overlap": "7"}),
        (f"{application}/secret", {"overlap": "7"}),
    ):
        answer = desk.fill_in(path, **fields)
        assert answer.status_code in (200, 422)
        seen.append(answer.text)
    for path in ("/disable", "/enable", "/sign-out", "/reset-factors"):
        answer = desk.post(one + path)
        seen.append(desk.browser.get(answer.headers["Location"]).text)
    answer = desk.post("/keys/rotate", algorithm="RS256")
    seen.append(desk.browser.get(answer.headers["Location"]).text)
    stranger = app.test_client()
    stranger.set_cookie("identity_language", "ru")
    hosting.sign_in(stranger, person)
    seen.append(stranger.get(CONSOLE).text)
    names = (service.client.client_id, person.id, person.email, desk.person.id, desk.person.name)
    for page in seen:
        assert '<html lang="ru">' in page
        for name in ('<body class="console">', *names):
            page = page.replace(name, "<body>" if "body" in name else "")
        assert words(page) <= OF_PROTOCOLS, words(page) - OF_PROTOCOLS

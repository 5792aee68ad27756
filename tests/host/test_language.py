"""Every page in English and in Russian."""

import re
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from flask import Flask
from flask.testing import FlaskClient

import hosting

REPOSITORY = Path(__file__).parents[2]
RUSSIAN = REPOSITORY / "host_app/translations/ru/LC_MESSAGES"
KEYWORDS = {"_": None, "gettext": None, "lazy_gettext": None, "N_": None, "InvalidValue": (2,)}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]")


def texts_in(folder: str, *methods: tuple[str, str]) -> set[str]:
    found = extract_from_dir(REPOSITORY / folder, list(methods), keywords=KEYWORDS)
    return {message for _, _, message, *_ in found if isinstance(message, str)}


def all_texts() -> set[str]:
    templates, code = ("templates/**.html", "jinja2"), ("**.py", "python")
    return (
        texts_in("host_app", templates, code)
        | texts_in("src/idsync", templates)
        | texts_in("src/idsync/oauth", code)
        | texts_in("src/idsync/accounts", ("*.py", "python"))
        | texts_in("src/idsync/administration", code)
        | texts_in("src/idsync/applications", code)
    )


@pytest.fixture(scope="module")
def russian() -> Catalog:
    return read_po(BytesIO((RUSSIAN / "messages.po").read_bytes()), locale="ru")


def test_every_text_is_translated(russian: Catalog) -> None:
    """Those of the library's own pages as well, and nothing is kept that no page says."""
    texts = all_texts()
    assert len(texts) > 100
    assert {text for text in texts if not (text in russian and russian[text].string)} == set()
    assert {message.id for message in russian if message.id} == texts


def test_translations_keep_what_is_put_into_them(russian: Catalog) -> None:
    for message in russian:
        if message.id:
            given, kept = (sorted(PLACEHOLDER.findall(one)) for one in (message.id, message.string))
            assert given == kept, message.id


def test_the_compiled_texts_are_those_of_the_catalog(russian: Catalog) -> None:
    compiled = read_mo(BytesIO((RUSSIAN / "messages.mo").read_bytes()))
    assert {one.id: one.string for one in compiled if one.id} == {
        one.id: one.string for one in russian if one.id
    }


def words(page: str) -> set[str]:
    """Latin words that a visitor reads, but for names, codes and the other language's name."""
    body = page.partition("<body")[2]
    body = re.sub(r"<(bdi|code|[a-z]+[^>]* lang=)[^>]*>.*?</", "</", body, flags=re.DOTALL)
    shown = re.sub(r"<[^>]*>", " ", body)
    labels = " ".join(re.findall(r'(?:aria-label|alt|title|placeholder)="([^"]*)"', page))
    return set(re.findall(r"[A-Za-z]{3,}", f"{shown} {labels}"))


PAGES = """/ /sign-in?next=/ /sign-in/phone /nowhere /oauth/authorize?client_id=unknown /security
    /security/password /security/phone /security/passkeys/new /security/recovery-codes
    /security/app/remove /applications""".split()


def test_a_russian_reads_russian_only(app: Flask, client: FlaskClient) -> None:
    """On every page, in the answers to mistakes as well."""
    client.set_cookie("identity_language", "ru")
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Приложение", redirect_uri="https://a.b/c")
    seen = [client.get("/sign-in").text, hosting.sign_in(client, person, password="wrong").text]
    seen.append(hosting.submit(client, "/sign-in", {"email": "", "password": ""}).text)
    hosting.sign_in(client, person)
    seen.append(client.get("/security").text)
    hosting.set_up_app(client)
    seen += [client.get(path).text for path in PAGES]
    consent = hosting.follow(client, client.get(hosting.authorize_path(application)))
    seen.append(consent.text.replace("a.b", ""))
    for page in seen:
        assert '<html lang="ru">' in page
        assert words(page) <= {"cookie", "example", "org"}, page


def test_the_browsers_language_counts_until_another_is_chosen(client: FlaskClient) -> None:
    answer = client.get("/sign-in", headers={"Accept-Language": "de, ru;q=0.7, en;q=0.3"})
    assert 'lang="ru"' in answer.text
    assert answer.headers["Content-Language"] == "ru"
    assert "Accept-Language" in answer.headers["Vary"]
    chosen = client.post("/language", data={"language": "en", "back": "/sign-in?next=/security"})
    assert chosen.headers["Location"] == "/sign-in?next=/security"
    answer = client.get("/sign-in", headers={"Accept-Language": "ru"})
    assert '<html lang="en">' in answer.text


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", ""])
def test_choosing_a_language_leads_nowhere_else(client: FlaskClient, back: str) -> None:
    answer = client.post("/language", data={"language": "ru", "back": back})
    assert answer.headers["Location"] == "/"


def test_another_language_is_refused(client: FlaskClient) -> None:
    assert client.post("/language", data={"language": "xx"}).status_code == 400

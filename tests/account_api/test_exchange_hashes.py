"""The exchange hash as others compute it: the test vectors of the docs, also in Node."""

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from flask import Flask

import hosting
from account_api.calling import Service, register
from idsync.crypto.exchange import ExchangeHash

PAGE = (Path(__file__).parents[2] / "docs" / "account-api.md").read_text(encoding="utf-8")


class Vector(NamedTuple):
    """A row of the table in the docs."""

    password: str
    salt_encoding: str
    stored: str


VECTORS = [
    Vector(*row)
    for row in re.findall(
        r"^\| `(.+)` \| (text|hex|base64) \| `(pbkdf2.+)` \|$", PAGE, re.MULTILINE
    )
]
OF_TEXT = [vector for vector in VECTORS if vector.salt_encoding == "text"]


def example(language: str) -> str:
    """The example of the docs in a language."""
    (found,) = re.findall(rf"^```{language}\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_docs_have_vectors_of_each_kind() -> None:
    """With the iterations we use, with text that is not ASCII, with a salt like base64."""
    assert {vector.salt_encoding for vector in VECTORS} == {"text", "hex", "base64"}
    assert len(VECTORS) == 5
    assert any("$600000$" in vector.stored for vector in OF_TEXT)
    assert any(not vector.password.isascii() for vector in OF_TEXT)


@pytest.mark.parametrize("vector", VECTORS)
def test_ours_agrees_with_the_vectors(vector: Vector) -> None:
    """And not with another password, or the salt read in another way."""
    parsed = ExchangeHash.parse(vector.stored, salt_encoding=vector.salt_encoding)
    assert str(parsed) == vector.stored
    assert parsed.verify(vector.password, salt_encoding=vector.salt_encoding)
    assert not parsed.verify(vector.password + " ", salt_encoding=vector.salt_encoding)


@pytest.mark.parametrize("vector", OF_TEXT)
def test_an_independent_implementation_agrees(vector: Vector) -> None:
    """PBKDF2HMAC of `cryptography`."""
    check_with_cryptography(vector.password, vector.stored)


def check_with_cryptography(password: str, stored: str) -> None:
    name, iterations, salt, digest = stored.split("$")
    assert name == "pbkdf2"
    for plain, right in ((password, True), (password + "x", False)):
        kdf = PBKDF2HMAC(SHA256(), 32, salt.encode(), int(iterations))
        try:
            kdf.verify(plain.encode(), bytes.fromhex(digest))
        except InvalidKey:
            assert not right
        else:
            assert right


def test_the_python_example_works() -> None:
    """As it stands in the docs."""
    names: dict[str, Any] = {}
    exec(example("python"), names)  # noqa: S102 - our own page
    for vector in OF_TEXT:
        assert names["verify"](vector.password, vector.stored)
        assert not names["verify"](vector.password + "x", vector.stored)


def in_node(pairs: list[tuple[str, str]]) -> list[bool]:
    """What the example in JavaScript says to passwords and hashes."""
    script = example("js") + (
        'const pairs = JSON.parse(require("node:fs").readFileSync(0, "utf8"));'
        "console.log(JSON.stringify(pairs.map(([password, stored]) => verify(password, stored))));"
    )
    try:
        done = subprocess.run(
            ["node", "--eval", script], input=json.dumps(pairs).encode(), capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("node is not installed")
    assert done.returncode == 0, done.stderr.decode()
    return list(json.loads(done.stdout))


def test_the_example_in_another_language_works() -> None:
    """crypto.pbkdf2Sync of Node."""
    right = [(vector.password, vector.stored) for vector in OF_TEXT]
    wrong = [(password + "x", stored) for password, stored in right]
    assert in_node(right + wrong) == [True] * len(right) + [False] * len(wrong)


def test_what_the_api_hands_out_others_can_check(app: Flask, service: Service) -> None:
    """A password set at the identity service, read from the list; and one that a service sent."""
    passwords = {"a@example.org": "correct horse", "b@example.org": "пароль 密码 🔑"}
    for email, password in passwords.items():
        hosting.add_person(app, "Person", email, password)
    service.created(email="c@example.org", password=OF_TEXT[1].stored)
    passwords["c@example.org"] = OF_TEXT[1].password
    pairs = [
        (passwords[account["email"]], account["password"])
        for account in service.whole()["accounts"]
    ]
    assert len(pairs) == 3
    for password, stored in pairs:
        check_with_cryptography(password, stored)
    assert in_node(pairs) == [True] * 3


@pytest.mark.parametrize("vector", VECTORS[2:], ids=lambda vector: vector.salt_encoding)
def test_a_person_signs_in_with_a_hash_a_service_sent(database_url: str, vector: Vector) -> None:
    """In each of the three readings of the salt that an operator can choose."""
    app = hosting.make_host(database_url, IDSYNC_PBKDF2_SALT=vector.salt_encoding)
    service = register(app)
    ada = service.created(email="ada@example.org", password=vector.stored)
    right = hosting.Person(ada, "Ada", "ada@example.org", vector.password)
    assert hosting.sign_in(app.test_client(), right, password="wrong").status_code != 303
    assert hosting.sign_in(app.test_client(), right).status_code == 303
    hosting.close_host(app)


def test_base64_is_accepted_and_kept_as_hex(service: Service) -> None:
    """Standard or URL-safe, padded or not: one form comes back."""
    stored = OF_TEXT[0].stored
    front, _, digest = stored.rpartition("$")
    raw = bytes.fromhex(digest)
    for text in (base64.b64encode(raw), base64.urlsafe_b64encode(raw).rstrip(b"=")):
        ada = service.created(password=f"{front}${text.decode()}")
        assert service.changed(ada)["password"] == stored

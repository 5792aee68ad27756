"""What a request's body may be: JSON in UTF-8, small, with known fields of the right types."""

import json
from typing import Any

import pytest
from flask import Flask

from account_api.calling import ACCOUNTS, JSON, Service, counter, refusal


@pytest.fixture(params=["create", "change"])
def path(request: pytest.FixtureRequest, service: Service) -> str:
    """Each of the two calls that have a body."""
    service.created(id="ada", email="ada@example.org")
    return ACCOUNTS if request.param == "create" else f"{ACCOUNTS}/ada"


def post(service: Service, path: str, data: bytes, content_type: str | None = JSON) -> Any:
    headers = {} if content_type is None else {"Content-Type": content_type}
    return service.call("POST", path, data=data, headers=headers)


def test_bodies_that_are_no_sound_json_are_refused(app: Flask, service: Service, path: str) -> None:
    """And say why; none of them changes anything."""
    before = counter(app)
    deep = 5_000
    for data, named in (
        (b"", "body: is not JSON"),
        (b"null", "body: expected object, got null"),
        (b"[]", "body: expected object, got array"),
        (b'"name"', "body: expected object, got str"),
        (b"{", "body: is not JSON"),
        (b'{"name": "A"} x', "body: is not JSON"),
        (b'{"name": "A",}', "body: is not JSON"),
        (b"name=A", "body: is not JSON"),
        (b'{"name": "\xff"}', "body: is not UTF-8"),
        (b'{"name": "\xed\xa0\x80"}', "body: is not UTF-8"),
        (b"\xef\xbb\xbf{}", "body: is not JSON"),
        ('{"name": "A"}'.encode("utf-16"), "body: is not UTF-8"),
        (b'{"name": "A", "name": "B"}', "name: is there more than once"),
        (b'{"name": "A", "x": {"y": 1, "y": 2}}', "y: is there more than once"),
        (b'{"name": "A", "\\u0000": 1, "\\u0000": 2}', "is there more than once"),
        (b"[" * deep, "body: is nested too deeply"),
        (b'{"name": ' * deep + b"1" + b"}" * deep, "body: is nested too deeply"),
        (b'{"name": "A", "tags": NaN}', ""),
        (b'{"name": 1' + b"0" * 5_000 + b"}", ""),
    ):
        said = refusal(post(service, path, data))
        assert named in said, data[:40]
        assert said.isprintable()
        assert len(said) < 300
    assert counter(app) == before


def test_only_json_is_read(service: Service, path: str) -> None:
    """A form would be what a page of another site can send; parameters do not matter."""
    data = b'{"name": "\xd0\x90\xd0\xb4\xd0\xb0"}'
    for wrong in (
        *(None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"),
        *("application/jsonx", "text/json", "application/json, text/plain"),
    ):
        said = refusal(post(service, path, data, wrong))
        assert said == "body: send JSON with the content type application/json", wrong
    for right in (JSON, "Application/JSON", f"{JSON}; charset=utf-8", f"{JSON};charset=latin-1"):
        answer = post(service, path, data, right)
        assert answer.status_code in (200, 201)
        assert answer.json.get("account", answer.json)["name"] == "Ада"


def test_a_huge_body_is_refused_unread(service: Service, path: str) -> None:
    """64 KiB is a hundred times a real one."""
    fits = json.dumps({"name": "A"}).encode()
    assert post(service, path, fits + b" " * (65_536 - len(fits))).status_code in (200, 201)
    assert refusal(post(service, path, fits + b" " * 65_536), 413) == "The request is too large."
    said = refusal(post(service, path, json.dumps({"name": "A" * 60_000}).encode()))
    assert said == "name: longer than 200 characters"


def test_types_are_not_guessed(service: Service, path: str) -> None:
    """A number is no text, 0 is not false, null is not "leave it"."""
    tags = "tags" if path == ACCOUNTS else "tags_add"
    for fields, named in (
        ({"name": 1}, "name: expected str, got int"),
        ({"name": True}, "name: expected str, got bool"),
        ({"name": ["A"]}, "name: expected str, got array"),
        ({"name": {"A": 1}}, "name: expected str, got object"),
        ({"email": 1}, "email: expected str | null, got int"),
        ({"password": 1}, "password: expected str"),
        ({tags: "wiki"}, f"{tags}: expected array, got str"),
        ({tags: [1]}, f"{tags}[0]: expected str, got int"),
        ({tags: ["a", None]}, f"{tags}[1]: expected str, got null"),
        ({tags: {"wiki": True}}, f"{tags}: expected array, got object"),
        ({"Name": "A"}, "Name: is not a field of this request"),
        ({"x\u202e\n": 1}, "is not a field of this request"),
        ({"x" * 10_000: 1}, "is not a field of this request"),
        ({"`": 1}, "`: is not a field of this request"),
    ):
        said = refusal(post(service, path, json.dumps({"name": "A", **fields}).encode()))
        assert named in said, fields
        assert said.isprintable()
        assert len(said) < 200
    half = b'{"name": "A", "\\ud800": 1}'
    assert refusal(post(service, path, half)).startswith("body: has a key with half a character")


def test_text_that_hides_something_is_refused(service: Service, path: str) -> None:
    """Control characters, half characters, invisible ones, and those that turn text around."""
    tags = "tags" if path == ACCOUNTS else "tags_add"
    for hidden in ("\0", "\n", "\x7f", "\x85", "\u200b", "\u200e", "\u202e", "\u2066", "\ufeff",
                   "\u2028", "\ud800", "\ue000", "\uffff"):  # fmt: skip
        for field, value in (
            ("name", f"A{hidden}B"),
            ("email", f"a{hidden}b@example.org"),
            (tags, [f"A{hidden}B"]),
        ):
            body = json.dumps({"name": "A", field: value}).encode()
            said = refusal(post(service, path, body))
            assert said == f"{field}: has an invisible character (U+{ord(hidden):04X})"
        body = json.dumps({"name": "A", "password": f"pbkdf2$10000$a{hidden}$" + "0" * 64}).encode()
        assert refusal(post(service, path, body)).startswith("password: ")


def test_text_of_any_script_is_kept_composed(service: Service, path: str) -> None:
    """Normalization form C, so that equal tags are equal; joined emoji and Persian stay whole."""
    tags = "tags" if path == ACCOUNTS else "tags_add"
    for name in ("Ада", "日本 太郎", "می\u200cخواهم", "👩\u200d💻", "José"):
        body = json.dumps({"name": name, tags: [name, "cafe\u0301", "caf\u00e9"]}).encode()
        answer = post(service, path, body)
        account = answer.json.get("account", answer.json)
        assert account["name"] == name
        assert {name, "caf\u00e9"} <= set(account["tags"])
        assert "cafe\u0301" not in account["tags"]

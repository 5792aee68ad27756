"""Every parameter of token, userinfo and revoke, spoilt in every way: the documented error."""

from werkzeug.test import TestResponse

from hostile.spoiling import SPOILT, UNREADABLE, cells, spoil
from hostile.target import (
    Target,
    check_machine_answer,
    encoded,
    send,
)

# --- token -------------------------------------------------------------------------------------

# on: tokens are given. Anything else is the error of the answer.
CODE = {
    #                     missing         empty           repeated        overlong
    #                     non-ASCII       quotes
    "grant_type": """     invalid_request invalid_request invalid_request unsupported_grant_type
                          unsupported_grant_type          unsupported_grant_type""",
    "code": """           invalid_request invalid_request invalid_request invalid_grant
                          invalid_grant   invalid_grant""",
    "redirect_uri": """   invalid_grant   invalid_grant   invalid_request invalid_grant
                          invalid_grant   invalid_grant""",
    "code_verifier": """  invalid_request invalid_request invalid_request invalid_request
                          invalid_request invalid_request""",
    "client_id": """      invalid_client  invalid_client  invalid_request invalid_client
                          invalid_client  invalid_client""",
    "client_secret": """  invalid_client  invalid_client  invalid_request invalid_client
                          invalid_client  invalid_client""",
    "unknown": """        on              on              invalid_request on
                          on              on""",
}
REFRESH = {
    "grant_type": CODE["grant_type"],
    "client_id": CODE["client_id"],
    "client_secret": CODE["client_secret"],
    "refresh_token": """  invalid_request invalid_request invalid_request invalid_grant
                          invalid_grant   invalid_grant""",
    "scope": """          on              on              invalid_request on
                          on              on""",
    "unknown": CODE["unknown"],
}


def token_outcome(response: TestResponse) -> str:
    """An answer of the token endpoint in the words of the tables."""
    check_machine_answer(response, "/oauth/token")
    if response.status_code == 200:
        assert response.json["id_token"]
        return "on"
    return str(response.json["error"])


def test_the_code_exchange_answers_every_spoilt_parameter(target: Target) -> None:
    """RFC 6749 §5.2; a code that was not redeemed for a fault of the request still can be."""
    browser, stranger = target.browser(), target.stranger()
    code = target.new_code(browser)
    for name, how, expected in cells(CODE):
        fields = spoil(target.code_fields(code), name, how)
        response = send(stranger, "POST", "/oauth/token", body=encoded(fields))
        assert token_outcome(response) == expected, (name, how)
        if expected == "on":
            code = target.new_code(browser)
    sound = encoded(target.code_fields(code))
    assert token_outcome(send(stranger, "POST", "/oauth/token", body=sound)) == "on"


def test_the_refresh_answers_every_spoilt_parameter(target: Target) -> None:
    """RFC 6749 §5.2; the token still works after every fault."""
    stranger = target.stranger()
    token = target.new_tokens(target.browser())["refresh_token"]
    for name, how, expected in cells(REFRESH):
        fields = spoil(target.refresh_fields(token), name, how)
        response = send(stranger, "POST", "/oauth/token", body=encoded(fields))
        assert token_outcome(response) == expected, (name, how)
        if expected == "on":
            token = response.json["refresh_token"]


def test_the_token_endpoint_refuses_what_it_cannot_read(target: Target) -> None:
    """In a value or a name, at both grants: `invalid_request`, and nothing is used up."""
    browser, stranger = target.browser(), target.stranger()
    exchange = target.code_fields(target.new_code(browser))
    refresh = target.refresh_fields(target.new_tokens(browser)["refresh_token"])
    for sound in (exchange, refresh):
        for kind, raw in UNREADABLE.items():
            bodies = [encoded({**sound, name: raw}) for name in (*sound, "unknown")]
            bodies.append(encoded(sound) + b"&" + raw + b"=1")
            for body in bodies:
                response = send(stranger, "POST", "/oauth/token", body=body)
                assert token_outcome(response) == "invalid_request", (kind, body)
        assert token_outcome(send(stranger, "POST", "/oauth/token", body=encoded(sound))) == "on"


def test_the_token_endpoint_reads_no_parameter_from_the_query(target: Target) -> None:
    """Secrets do not belong into addresses; what stands there is not looked at."""
    fields = target.code_fields(target.new_code(target.browser()))
    stranger = target.stranger()
    for query in (encoded(fields), b"\xff", b"a=%00"):
        response = send(stranger, "POST", "/oauth/token", query=query, body=b"a=1")
        assert token_outcome(response) == "invalid_request"
        response = send(stranger, "POST", "/oauth/token", query=query)
        assert token_outcome(response) == "invalid_request"
    response = send(stranger, "POST", "/oauth/token", query=b"a=%ff", body=encoded(fields))
    assert token_outcome(response) == "on"


def test_too_much_at_machine_endpoints_is_refused(target: Target) -> None:
    """Too many parameters: 400. Too many bytes: 413."""
    for path in ("/oauth/token", "/oauth/userinfo"):
        for body, status in ((b"a=1" + b"&a=1" * 65, 400), (b"a=" + b"b" * 33_000, 413)):
            response = send(target.stranger(), "POST", path, body=body)
            check_machine_answer(response, path)
            assert response.status_code == status
            assert response.json["error"] == "invalid_request"


# --- userinfo ----------------------------------------------------------------------------------

USERINFO = {
    #                   missing  empty  repeated         overlong       non-ASCII      quotes
    "access_token": "   none     none   invalid_request  invalid_token  invalid_token  invalid_token",  # noqa: E501
    "unknown": "        on       on     invalid_request  on             on             on",
}


def test_userinfo_answers_every_spoilt_parameter(target: Target) -> None:
    """RFC 6750 §3.1: without a token the challenge names no error."""
    stranger = target.stranger()
    sound = {"access_token": target.new_tokens(target.browser())["access_token"]}
    for name, how, expected in cells(USERINFO):
        response = send(stranger, "POST", "/oauth/userinfo", body=encoded(spoil(sound, name, how)))
        check_machine_answer(response, "/oauth/userinfo")
        challenge = response.headers.get("WWW-Authenticate", "")
        if expected == "on":
            assert response.status_code == 200, (name, how)
        elif expected == "none":
            assert (response.status_code, "error" in challenge) == (401, False), (name, how)
        else:
            assert f'error="{expected}"' in challenge, (name, how)
            assert response.status_code == (400 if expected == "invalid_request" else 401)


def test_userinfo_refuses_what_it_cannot_read(target: Target) -> None:
    """`invalid_request`, in the challenge as well."""
    for kind, raw in UNREADABLE.items():
        for body in (b"access_token=" + raw, b"unknown=" + raw, raw + b"=1"):
            response = send(target.stranger(), "POST", "/oauth/userinfo", body=body)
            check_machine_answer(response, "/oauth/userinfo")
            assert response.status_code == 400, kind
            assert 'error="invalid_request"' in response.headers["WWW-Authenticate"]


# --- revoke --------------------------------------------------------------------------------------


def test_revoke_says_the_same_to_whatever_it_is_sent(target: Target) -> None:
    """200 and `{}`, by the service's contract; unreadable, too large or missing alike."""
    token = target.new_tokens(target.browser())["access_token"]
    bodies = [b"token=" + raw for raw in UNREADABLE.values()]
    bodies += [encoded(spoil({"token": token}, "token", how)) for how in SPOILT]
    bodies += [raw + b"=1" for raw in UNREADABLE.values()]
    bodies += [b"token=" + b"b" * 33_000, b"a=1" + b"&a=1" * 65]
    for body in bodies:
        response = send(target.stranger(), "POST", "/oauth/revoke", body=body)
        check_machine_answer(response, "/oauth/revoke")
        assert (response.status_code, response.json) == (200, {})

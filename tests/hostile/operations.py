"""Everything that needs the database, each sound and ready to be sent; and its answer."""

from werkzeug.test import TestResponse

import hosting
from hostile.target import FORM, Target


class Operations:
    """Everything that needs the database, each sound and ready to be sent; and its answer."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.browser = target.browser()
        self.leaving, self.coming = target.browser(), target.app.test_client()
        self.code = target.new_code(self.browser)
        self.tokens, self.unwanted = (target.new_tokens(self.browser) for _ in range(2))
        self.path = hosting.authorize_path(target.application)
        self.consent_path = hosting.authorize_path(target.application, prompt="consent")
        self.consent_fields = hosting.hidden_fields(self.browser.get(self.consent_path).text)
        self.sign_in_fields = hosting.hidden_fields(self.coming.get("/sign-in").text)
        self.sign_out_fields = hosting.hidden_fields(self.leaving.get("/").text)

    def exchange(self) -> TestResponse:
        return self.browser.post("/oauth/token", data=self.target.code_fields(self.code))

    def refresh(self) -> TestResponse:
        fields = self.target.refresh_fields(self.tokens["refresh_token"])
        return self.browser.post("/oauth/token", data=fields)

    def userinfo(self) -> TestResponse:
        bearer = {"Authorization": f"Bearer {self.tokens['access_token']}"}
        return self.browser.get("/oauth/userinfo", headers=bearer)

    def userinfo_by_form(self) -> TestResponse:
        form = {"access_token": self.tokens["access_token"]}
        return self.browser.post("/oauth/userinfo", data=form)

    def revoke(self) -> TestResponse:
        return self.browser.post("/oauth/revoke", data={"token": self.unwanted["access_token"]})

    def authorize(self) -> TestResponse:
        return self.browser.get(self.path)

    def authorize_by_form(self) -> TestResponse:
        path, _, query = self.path.partition("?")
        return self.browser.post(path, data=query, content_type=FORM)

    def ask_for_consent(self) -> TestResponse:
        return self.browser.get(self.consent_path)

    def agree(self) -> TestResponse:
        fields = {**self.consent_fields, "decision": "allow"}
        return self.browser.post("/oauth/consent", data=fields)

    def open_start_page(self) -> TestResponse:
        return self.browser.get("/")

    def sign_in(self) -> TestResponse:
        person = self.target.person
        fields = {"email": person.email, "password": person.password}
        return self.coming.post("/sign-in", data={**self.sign_in_fields, **fields})

    def sign_out(self) -> TestResponse:
        return self.leaving.post("/sign-out", data=self.sign_out_fields)


ANSWERS = {
    "exchange": '200 "access_token"',
    "refresh": '200 "access_token"',
    "userinfo": '200 "sub"',
    "userinfo_by_form": '200 "sub"',
    "revoke": "200 {}",
    "authorize": "303 code=ac_",
    "authorize_by_form": "303 pending=",
    "ask_for_consent": '200 name="decision"',
    "agree": "303 code=ac_",
    "open_start_page": "200 Ada Lovelace",
    "sign_in": "303 /",
    "sign_out": "303 /",
}
"""What each operation is answered with: the status, and something of the Location or the body."""

WRITES = ("exchange", "refresh", "revoke", "authorize", "agree", "sign_in", "sign_out")


def check_answer(name: str, response: TestResponse) -> None:
    """The operation was done."""
    status, _, part = ANSWERS[name].partition(" ")
    assert response.status_code == int(status), (name, response.text)
    assert part in response.headers.get("Location", response.text), name


def check_unavailable(name: str, response: TestResponse) -> None:
    """The operation was not done; the caller is asked to come again."""
    assert response.status_code == 503, (name, response.text)
    assert int(response.headers["Retry-After"]) > 0
    if name in ("exchange", "refresh", "revoke", "userinfo", "userinfo_by_form"):
        assert response.json["error"] == "temporarily_unavailable"
        assert response.headers["Access-Control-Allow-Origin"] == "*"
    else:
        assert response.mimetype == "text/html"
    assert "Traceback" not in response.text

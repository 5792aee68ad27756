"""A small consuming service: it keeps a copy of the accounts and signs people in, both ways.

With a password it asks its own copy (`admit`); with the button it sends people to the identity
service (`SignIn`). A thread pulls every two minutes. What a person changes here is changed at the
identity service first. This is the part to copy from.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from flask import Flask, abort, redirect, render_template, request, session, url_for
from flask_wtf import CSRFProtect
from werkzeug.wrappers import Response

from host_app.demo.shelf import people_on
from idsync.consumer import (
    Account,
    AccountsApi,
    Admission,
    ConsumerError,
    LocalCopy,
    SignIn,
    SignInRefused,
    Verdict,
    admit,
    admit_signed_in,
    open_store,
)

# One text for "wrong" and for people without a hash to check here, so that it tells nobody apart.
NOT_PROVEN = "The e-mail address or the password is wrong, or only the identity service knows it."

TEXTS = {
    Verdict.UNKNOWN: "The identity service knows you, and the bookshelf does not yet.",
    Verdict.DISABLED: "Your account is disabled.",
    Verdict.NO_TAG: "Your account has no access to the bookshelf.",
    Verdict.USE_IDENTITY_SERVICE: "Your account is protected by a second factor.",
}
TOO_OLD = "The identity service was out of reach for too long. Please try again later."


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Make the application. Settings: SECRET_KEY, ISSUER, CLIENT_ID, CLIENT_SECRET, SERVICE_TAG,
    COPY, in the environment with the prefix `DEMO_`.
    """
    app = Flask(__name__)
    # It shares a host with the identity service, and so its cookies: the name must be its own.
    app.config.from_mapping(SESSION_COOKIE_NAME="bookshelf_session", SESSION_COOKIE_SAMESITE="Lax")
    app.config.from_prefixed_env("DEMO")
    app.config.from_mapping(config or {})
    CSRFProtect(app)

    service = app.config["ISSUER"]
    credentials = (app.config["CLIENT_ID"], app.config["CLIENT_SECRET"])
    identity = SignIn(service, *credentials)
    copy = LocalCopy(
        AccountsApi(service, *credentials),
        open_store(app.config["COPY"]),
        service_tag=app.config["SERVICE_TAG"],
        everyone=True,  # to show who may not come in; most services copy only their own people
    )
    threading.Thread(target=copy.run, daemon=True).start()

    def signed_in() -> Account | None:
        """The person of this session, as long as the copy says they may be here."""
        account = copy.store.by_id(session.get("person", ""))
        welcome = account and not account.disabled and copy.service_tag in account.tags
        return account if welcome else None

    @app.get("/")
    def start() -> str:
        return render_template("start.html", person=signed_in(), service=service)

    @app.post("/")
    def sign_in_here() -> Any:
        """Sign in with a password that the copy can check."""
        email = request.form.get("email", "")
        return enter(admit(copy, email, request.form.get("password", "")), email)

    @app.get("/sign-in")
    def sign_in() -> Any:
        """Sign in with the identity service."""
        departure = identity.begin(url_for("callback", _external=True))
        session["sign_in"] = departure.kept
        return redirect(departure.url)

    @app.get("/callback")
    def callback() -> Any:
        arrival = identity.finish(request.args, session.pop("sign_in", None))
        return enter(admit_signed_in(copy, arrival.subject))

    def enter(admission: Admission, email: str = "") -> Any:
        if admission.account is not None:
            session["person"] = admission.account.id
            return redirect(url_for("start"), 303)
        problem = TEXTS.get(admission.verdict, NOT_PROVEN) if admission.proven else NOT_PROVEN
        if admission.verdict is Verdict.TOO_OLD:
            problem = TOO_OLD
        page = render_template("start.html", person=None, problem=problem, email=email)
        return page, 403

    @app.get("/copy")
    def copy_page() -> str:
        if signed_in() is None:
            abort(redirect(url_for("start")))
        return render_template(
            "copy.html", status=copy.status(), people=people_on(copy.store), tag=copy.service_tag
        )

    @app.post("/copy")
    def pull() -> Response:
        if signed_in() is not None:
            copy.pull(wait=5)
        return redirect(url_for("copy_page"), 303)

    @app.post("/people")
    def change() -> Response:
        """Change the signed-in person's name and tag, there and then here."""
        person = signed_in()
        if person is not None:
            word = request.form.get("tag", "").strip()
            tags = {"tags_remove" if word in person.tags else "tags_add": [word]} if word else {}
            copy.change(person.id, name=request.form.get("name", person.name), **tags)
        return redirect(url_for("start"), 303)

    @app.post("/sign-out")
    def sign_out() -> Response:
        session.pop("person", None)
        return redirect(url_for("start"), 303)

    @app.errorhandler(ConsumerError)
    def refused(error: ConsumerError) -> tuple[str, int]:
        code = error.code if isinstance(error, SignInRefused) else None
        return render_template("refused.html", code=code, text=str(error)), 403

    return app

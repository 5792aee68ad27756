"""What idsync meets in other sites than the guide's: addresses, proxies, hooks, other sites."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from flask import Flask, request
from flask_wtf import CSRFProtect
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix

from existing_site.browser import sign_in_at
from existing_site.hosts import (
    MAIL,
    PASSWORD,
    add_person,
    browser_at,
    configuration,
    make_host,
    register_wiki,
    running,
)
from idsync import ConfigurationError

# --- several applications in a process ------------------------------------------------------------


def test_two_sites_in_one_process_keep_apart() -> None:
    """Each with its own IdSync, people, keys and browsers; both call their first person 1."""
    red, blue = make_host(), make_host()
    with running(red) as red_app, running(blue, issuer="https://blue.example.org") as blue_app:
        _expect_two_worlds((red, red_app), (blue, blue_app))


def test_one_site_made_twice_keeps_its_databases_apart() -> None:
    """The factory called twice: nothing of an application stays on the shared IdSync."""
    host = make_host()
    with running(host) as one, running(host, issuer="https://two.example.org") as other:
        _expect_two_worlds((host, one), (host, other))


def _expect_two_worlds(*worlds: tuple[Any, Flask]) -> None:
    wikis = []
    for host, app in worlds:
        add_person(host, app)
        wikis.append(register_wiki(app, app))
    tokens = []
    for wiki, (_, app) in zip(wikis, worlds, strict=True):
        tokens.append(sign_in_at(wiki, browser_at(wiki, app), MAIL, PASSWORD))
    for wiki, own, foreign in zip(wikis, tokens, reversed(tokens), strict=True):
        assert wiki.claims(own["id_token"])["iss"] == wiki.provider["issuer"]
        assert wiki.userinfo(own).status == 200
        assert wiki.userinfo(foreign).status == 401
        assert wiki.refresh(foreign).json["error"] == "invalid_grant"
    for host, app in worlds:
        with app.app_context():
            sessions = host.db.metadata.tables["idsync_session"]
            assert len(host.db.session.execute(sessions.select()).all()) == 1


# --- addresses -----------------------------------------------------------------------------------


def test_a_site_under_a_prefix() -> None:
    """Mounted at /id beside another site: every address, redirect and cookie stays below it."""
    host, issuer = make_host(), "https://www.example.org/id"
    with running(host, issuer=issuer, APPLICATION_ROOT="/id") as app:
        mounted = DispatcherMiddleware(NotFound(), {"/id": app})
        _expect_a_sign_in_below(issuer, host, app, mounted)


def test_a_site_behind_a_proxy() -> None:
    """ProxyFix as Flask documents it: the site itself sees plain http on another host and path."""
    host, issuer = make_host(), "https://www.example.org/id"
    with running(host, issuer=issuer, after=_trust_the_proxy) as app:
        _expect_a_sign_in_below(issuer, host, app, _proxy(app, "/id"))


def test_the_issuer_of_a_site_under_development_is_the_address_called() -> None:
    """Without IDSYNC_ISSUER, which debug mode and tests allow, a proxy's address counts too."""
    host = make_host()
    with running(host, TESTING=True, IDSYNC_ISSUER="", after=_trust_the_proxy) as app:
        app.config["IDSYNC_ISSUER"] = "https://www.example.org/id"  # for `register_wiki` alone
        wiki = register_wiki(app, _proxy(app, "/id"))
        assert wiki.provider["token_endpoint"] == "https://www.example.org/id/oauth/token"


def _expect_a_sign_in_below(issuer: str, host: Any, app: Flask, application: Any) -> None:
    CSRFProtect(app)
    add_person(host, app)
    wiki = register_wiki(app, application)
    endpoints = [value for name, value in wiki.provider.items() if name.endswith(("point", "uri"))]
    assert len(endpoints) == 6
    assert all(endpoint.startswith(f"{issuer}/") for endpoint in endpoints)
    metadata = wiki.send("GET", f"{issuer}/.well-known/oauth-authorization-server", None, {})
    assert metadata.json == wiki.provider
    browser = browser_at(wiki, application)
    sign_in = wiki.start()
    page = browser.get(sign_in.address)
    assert page.url.startswith(f"{issuer}/login?next=%2Fid%2Foauth%2Fauthorize%3Fpending%3D")
    page = browser.sign_in(page, MAIL, PASSWORD)
    assert page.url.startswith(f"{issuer}/oauth/authorize?pending=")
    assert 'href="/id/oauth/static/idsync.css"' in page.text
    tokens = sign_in.finish(browser.submit(page, decision="allow"))
    assert wiki.userinfo(tokens).json["email"] == MAIL
    assert wiki.refresh(tokens).status == 200


def _trust_the_proxy(app: Flask) -> None:
    app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1, x_host=1, x_prefix=1)


def _proxy(application: Any, prefix: str) -> Callable[..., Iterable[bytes]]:
    """A proxy that forwards what is below `prefix` to http://127.0.0.1:8000/."""

    def forward(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        assert environ["PATH_INFO"].startswith(f"{prefix}/")
        environ |= {
            "HTTP_X_FORWARDED_FOR": environ.get("REMOTE_ADDR", "192.0.2.1"),
            "HTTP_X_FORWARDED_PROTO": environ["wsgi.url_scheme"],
            "HTTP_X_FORWARDED_HOST": environ["HTTP_HOST"],
            "HTTP_X_FORWARDED_PREFIX": prefix,
            "PATH_INFO": environ["PATH_INFO"].removeprefix(prefix),
            "HTTP_HOST": "127.0.0.1:8000",
            "wsgi.url_scheme": "http",
        }
        return application(environ, start_response)

    return forward


@pytest.mark.parametrize(
    ("taken", "advice"),
    [
        ("/oauth/authorize", "IDSYNC_AUTHORIZE_PATH"),
        ("/oauth/consent", "IDSYNC_CONSENT_PATH"),
        ("/oauth/token", "IDSYNC_TOKEN_PATH"),
        ("/oauth/userinfo", "IDSYNC_USERINFO_PATH"),
        ("/oauth/jwks", "IDSYNC_JWKS_PATH"),
        ("/oauth/static/<path:filename>", "IDSYNC_STATIC_PATH"),
        ("/.well-known/openid-configuration", "fixed by the standard"),
    ],
)
def test_an_address_that_the_site_has_already_is_refused(taken: str, advice: str) -> None:
    """Neither side hides the other; the message names the site's endpoint and our setting."""
    host = make_host()

    def before(app: Flask) -> None:
        app.add_url_rule(taken, "our_own_page", lambda **_: "the site's own")

    with pytest.raises(ConfigurationError, match="our_own_page") as refused:
        running(host, before=before).__enter__()
    assert advice in str(refused.value)


def test_a_moved_address_lives_beside_the_site_s_own() -> None:
    """What the message advises works."""
    host = make_host()

    def before(app: Flask) -> None:
        app.add_url_rule("/oauth/token", "our_own_page", lambda: "the site's own")

    with running(host, before=before, IDSYNC_TOKEN_PATH="/oidc/token") as app:
        add_person(host, app)
        wiki = register_wiki(app, app)
        assert wiki.provider["token_endpoint"] == "https://sso.example.org/oidc/token"
        assert sign_in_at(wiki, browser_at(wiki, app), MAIL, PASSWORD)["access_token"]
        assert browser_at(wiki, app).get("/oauth/token").text == "the site's own"


# --- other extensions and hooks -------------------------------------------------------------------


def _read_every_form(app: Flask) -> None:
    app.before_request(lambda: app.logger.debug("%s", list(request.form)))


@pytest.mark.parametrize(
    "order",
    [
        pytest.param({"before": CSRFProtect}, id="CSRFProtect first"),
        pytest.param({"after": CSRFProtect}, id="CSRFProtect last"),
        pytest.param({"before": _read_every_form}, id="a hook that reads forms, first"),
        pytest.param({"after": _read_every_form}, id="a hook that reads forms, last"),
    ],
)
def test_who_else_reads_forms_does_not_matter(order: dict[str, Any]) -> None:
    """Programs post without a CSRF token, people's pages with one, whoever came first."""
    host = make_host()
    with running(host, **order) as app:
        add_person(host, app)
        wiki = register_wiki(app, app)
        browser = browser_at(wiki, app)
        tokens = sign_in_at(wiki, browser, MAIL, PASSWORD)
        assert wiki.refresh(tokens).status == 200
        body = {"access_token": tokens["access_token"]}
        assert wiki.send("POST", wiki.provider["userinfo_endpoint"], body, {}).status == 200
        authorize, wikis_page = wiki.provider["authorization_endpoint"], "https://wiki.example.org/"
        posted = browser_at(wiki, app).post(authorize, wiki.start().request, referer=wikis_page)
        assert 'name="password"' in posted.text, "authorize takes a form from anywhere"


def test_the_consent_form_is_protected() -> None:
    """Our own pages are under the site's CSRFProtect like every form of the site."""
    host = make_host()
    with running(host, before=CSRFProtect) as app:
        add_person(host, app)
        wiki = register_wiki(app, app)
        browser = browser_at(wiki, app)
        page = browser.sign_in(browser.get(wiki.start().address), MAIL, PASSWORD)
        forged = browser.submit(page, decision="allow", csrf_token="another")
        assert (forged.status, "CSRF" in forged.text) == (400, True)


def test_the_settings_of_the_guide_are_the_required_ones() -> None:
    """Each missing one is refused by its name when the site starts."""
    for name in ("IDSYNC_ISSUER", "IDSYNC_TOKEN_KEYS", "IDSYNC_SEALING_KEYS"):
        host, app = make_host(), Flask("a_site")
        app.config.update(configuration("sqlite://", "https://sso.example.org"))
        del app.config[name]
        with pytest.raises(ConfigurationError, match=name):
            host.identity.init_app(app)

"""A registration in which nothing is wrong, for tests to change. Needs no pytest."""

from idsync.applications.application import Application

SOUND = Application(
    client_id="app_1",
    name="Demo",
    secret_digest="0" * 64,
    redirect_uris=("https://app.example/callback",),
    post_logout_redirect_uris=(),
    scopes=("openid", "profile"),
    first_party=False,
    accounts=False,
    service_tag=None,
    id_token_algorithm="RS256",
    active=True,
    created_at=0,
)

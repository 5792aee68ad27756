"""The token endpoint as Authlib's plain server has it, to which codes and tokens are posted."""

from typing import Any

from idsync.oauth.server import OAuthRequest
from oauth.conftest import ISSUER, Plain

REDIRECT_URI = "https://app.example/callback"


def token(plain: Plain, credentials: bool = True, **form: str) -> tuple[int, dict[str, Any]]:
    """POST to the token endpoint as Authlib's server sees it."""
    registration = plain.application
    if credentials:
        form = {
            "client_id": registration.application.client_id,
            "client_secret": registration.client_secret or "",
            **form,
        }
    request = OAuthRequest("POST", f"{ISSUER}/oauth/token", {k: [v] for k, v in form.items()})
    status, body, _ = plain.server.create_token_response(request)
    return status, body


def redeem(plain: Plain, grant_id: bytes, **form: str) -> tuple[int, dict[str, Any]]:
    fields = {
        "grant_type": "authorization_code",
        "code": plain.references.code(grant_id),
        "redirect_uri": REDIRECT_URI,
        **form,
    }
    return token(plain, **fields)


def refresh(plain: Plain, refresh_token: str, **form: str) -> tuple[int, dict[str, Any]]:
    return token(plain, grant_type="refresh_token", refresh_token=refresh_token, **form)

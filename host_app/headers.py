"""Headers that every page of ours carries."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from flask import Flask, Response, make_response
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError, CSRFProtect

P = ParamSpec("P")

# Nothing but our own files, and no scripts but on the few pages that ask for them. No
# `form-action`: Chromium applies it to the whole redirect chain behind a form, and signing in may
# lead straight on to an application.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # Not "no-referrer": over https, the CSRF check needs the referrer of our own pages.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def with_own_scripts(view: Callable[P, ResponseReturnValue]) -> Callable[P, Response]:
    """Let a page run the scripts in our own files."""

    @functools.wraps(view)
    def wrapped(*args: P.args, **options: P.kwargs) -> Response:
        response = make_response(view(*args, **options))
        response.headers["Content-Security-Policy"] = (
            f"{CONTENT_SECURITY_POLICY}; script-src 'self'"
        )
        return response

    return wrapped


class StrictCSRFProtect(CSRFProtect):  # type: ignore[misc]
    """Flask-WTF's check; a referrer that is no address is refused instead of failed on."""

    def protect(self, *args: object, **options: object) -> None:
        """Check a form's token and, over https, where it came from."""
        try:
            super().protect(*args, **options)
        except ValueError:
            raise CSRFError("The referrer is not an address.") from None


def init_app(app: Flask) -> None:
    """Add the headers to every page that does not set them itself."""
    app.after_request(_protect)


def _protect(response: Response) -> Response:
    if response.mimetype == "text/html":
        for name, value in PAGE_HEADERS.items():
            response.headers.setdefault(name, value)
    return response

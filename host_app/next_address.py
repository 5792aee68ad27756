"""Where to go after signing in: never to another site."""

from __future__ import annotations

import re

# Printable ASCII without space, backslash, double quote and angle brackets. Browsers drop control
# characters and take a backslash for a slash, so an address with them may not be what it seems.
_PLAIN_PATH = re.compile(r"/[!#-;=?-\[\]^_a-z{|}~]*")


def local_path(address: str | None) -> str | None:
    r"""`address` if it is a path on this site, with its query; else None.

    A browser takes `//host` and `/\host` for another site (WHATWG URL §4.4).
    """
    if not address or not _PLAIN_PATH.fullmatch(address) or address.startswith("//"):
        return None
    return address

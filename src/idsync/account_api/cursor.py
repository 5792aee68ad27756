"""Cursors and ETags: how far a reader of the directory has come.

A cursor says which incarnation of the directory, at which revision, and a digest of everything else
that shapes an answer (the tag, the role map, whether hashes are shown). Anything that does not fit
is foreign: its bearer gets the whole list. A cursor is no secret and grants nothing.
"""

from __future__ import annotations

import hashlib
import json
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass

_LAYOUT = struct.Struct(">8sQ8s")


@dataclass(frozen=True, slots=True)
class Cursor:
    """incarnation and shape: 8 bytes each; revision: the counter's value."""

    incarnation: bytes
    revision: int
    shape: bytes

    def __str__(self) -> str:
        packed = _LAYOUT.pack(self.incarnation, self.revision, self.shape)
        return urlsafe_b64encode(packed).decode("ascii")

    def fits(self, other: Cursor) -> bool:
        """Whether both are of the same incarnation and shape."""
        return (self.incarnation, self.shape) == (other.incarnation, other.shape)


def read_cursor(text: str) -> Cursor | None:
    """The cursor in a text, or None where it is not one of ours."""
    try:
        packed = urlsafe_b64decode(text.encode("ascii"))
        cursor = Cursor(*_LAYOUT.unpack(packed))
    except (ValueError, struct.error):
        return None
    return cursor if str(cursor) == text else None


def shape_of(tag: str | None, role_map: Mapping[str, str], *, hashes: bool) -> bytes:
    """The digest of what shapes an answer beside the accounts."""
    text = json.dumps([tag, sorted(role_map.items()), hashes])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]

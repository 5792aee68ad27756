"""Form fields that several pages have, with what browsers and password managers want to know."""

from __future__ import annotations

from typing import Any

from wtforms import StringField
from wtforms.validators import Length

LONGEST_EMAIL = 254
"""Characters (RFC 5321 §4.5.3.1)."""


class EmailField(StringField):  # type: ignore[misc]
    """An e-mail address. Not type="email": Chromium refuses addresses whose name is not ASCII."""

    def __init__(self, label: Any, *validators: Any, autocomplete: str, **options: Any) -> None:
        attributes = {
            "autocomplete": autocomplete,
            "autocapitalize": "none",
            "inputmode": "email",
            "spellcheck": "false",
        }
        checks = [*validators, Length(max=LONGEST_EMAIL)]
        super().__init__(label, checks, render_kw=attributes, **options)

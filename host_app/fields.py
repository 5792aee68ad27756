"""Form fields that several pages have, with what browsers and password managers want to know."""

from __future__ import annotations

from typing import Any

from wtforms import StringField


class EmailField(StringField):  # type: ignore[misc]
    """An e-mail address. Not type="email": Chromium refuses addresses whose name is not ASCII."""

    def __init__(
        self, label: Any, validators: Any = None, *, autocomplete: str, **options: Any
    ) -> None:
        attributes = {
            "autocomplete": autocomplete,
            "autocapitalize": "none",
            "inputmode": "email",
            "spellcheck": "false",
        }
        super().__init__(label, validators, render_kw=attributes, **options)

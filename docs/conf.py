"""How Sphinx builds these pages: `python3 -m nox -s docs`."""

from importlib import metadata
from typing import Any

from sphinx.application import Sphinx

project = "idsync"
author = "The idsync authors"
copyright = author
release = metadata.version("idsync")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "idsync"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False
myst_heading_anchors = 3

# Docstrings write `names` as Markdown does.
default_role = "literal"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True

# Types of other packages are named, not linked: their documentation is on other hosts.
nitpick_ignore_regex = [("py:class", r"(?!idsync\.).*")]

# Answers are shortened with "…", which is no JSON.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", hide_constructor)


def hide_constructor(
    app: Sphinx, what: str, name: str, made: Any, options: Any, signature: str, returned: str
) -> tuple[str, None] | None:
    """Leave out how objects are made that only idsync makes; a record's fields are shown by it."""
    ours = name.rpartition(".")[0] in ("idsync", "idsync.consumer")
    record = hasattr(made, "__dataclass_fields__")
    return None if what != "class" or ours or record else ("", None)

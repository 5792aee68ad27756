"""docs/conformance.md lists exactly the modules that are tested here."""

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs/conformance.md"


def test_the_page_lists_every_tested_module_and_no_other() -> None:
    """A test is named after its module."""
    tested = [
        function.name.removeprefix("test_").replace("_", "-")
        for file in FOLDER.glob("test_*.py")
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_oidcc_")
    ]
    rows = re.findall(r"^\| `(oidcc-\S+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert sorted(module for module, _ in rows) == sorted(tested)
    assert len(rows) >= 52
    for _, result in rows:
        assert result.startswith(("passed", "warning: ", "skipped: "))

"""The guide is applied by machine; these keep the machine strict."""

import re
from pathlib import Path

import pytest

from existing_site.guide import GUIDE, Edit, GuideDoesNotFit, commands, edits

ONE_PLACE = """
```diff
--- site.py
 import os
+import idsync
@@
-old = 1
+new = 1

 last = 2
--- new/page.html
+<p>
```
```sh
flask db migrate -m "Add idsync"
```
"""


def test_edits_and_commands_are_read_in_order(tmp_path: Path) -> None:
    """Several places and files in one block; a new file is one of added lines only."""
    (tmp_path / "site.py").write_text("import os\nold = 1\n\nlast = 2\n")
    for edit in edits(ONE_PLACE):
        edit.apply(tmp_path)
    assert (tmp_path / "site.py").read_text() == "import os\nimport idsync\nnew = 1\n\nlast = 2\n"
    assert (tmp_path / "new" / "page.html").read_text() == "<p>\n"
    assert list(commands(ONE_PLACE)) == [["flask", "db", "migrate", "-m", "Add idsync"]]


@pytest.mark.parametrize("text", ["other = 1\n", "old = 1\nold = 1\n", "bold = 1\n"])
def test_a_place_that_is_not_there_exactly_once_is_refused(text: str, tmp_path: Path) -> None:
    """A guide that no longer fits the site fails instead of changing something else."""
    (tmp_path / "site.py").write_text(text)
    with pytest.raises(GuideDoesNotFit):
        Edit("site.py", ["old = 1"], ["new = 1"]).apply(tmp_path)


def test_a_new_file_replaces_nothing(tmp_path: Path) -> None:
    """Added lines alone name no place in a file that exists."""
    (tmp_path / "site.py").write_text("old = 1\n")
    with pytest.raises(GuideDoesNotFit, match="is there already"):
        Edit("site.py", [], ["new = 1"]).apply(tmp_path)


def test_everything_set_apart_in_the_guide_is_tested() -> None:
    """A block in another language would be text that nobody tries."""
    assert set(re.findall(r"^```(\w*)\n.*?^```$", GUIDE.read_text(), re.M | re.S)) == {"diff", "sh"}

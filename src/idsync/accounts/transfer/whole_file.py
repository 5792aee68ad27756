"""A file that is there whole or not at all, for its owner only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Write a file beside `path`, mode 0600, and give it that name when everything is in it.

    A file that was there is replaced then, and stays as it was where the writing fails.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no file that could be replaced")
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    beside = Path(name)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            yield file
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise

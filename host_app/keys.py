"""Keys for the embedded database: made once, kept beside it in `keys.json`.

A service that nobody configured yet must not share its keys with another one, nor lose them when
it starts again. So they are made where the database is still empty, and only there: keys made for
a database that holds data could not open what is sealed in it.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from host_app.database import LONGEST_WAIT, embedded_file
from idsync import ConfigurationError

KEY_FILE = "keys.json"
KEY_BYTES = 32

NAMES = ("SECRET_KEY", "IDSYNC_TOKEN_KEYS", "IDSYNC_SEALING_KEYS")


def load_keys(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that `config` lacks, from the folder's key file, which is made where that is safe.

    However many processes start at once, all get the same. Raises ConfigurationError.
    """
    missing = [name for name in NAMES if not config.get(name)]
    if not missing:
        return {}
    file = folder / KEY_FILE
    try:
        keys = _read(file)
        if keys is None:
            keys = _make(file, embedded_file(folder))
    except OSError as error:
        raise ConfigurationError(f"The keys in {file} cannot be used: {error.strerror}.") from error
    return {name: keys[name] for name in missing}


def _read(file: Path) -> dict[str, Any] | None:
    try:
        keys = json.loads(file.read_text(encoding="utf-8"))
        return {name: keys[name] for name in NAMES}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(
            f"{file} is damaged. Restore it from the backup that belongs to the database beside it."
        ) from None


def _make(file: Path, database: Path) -> dict[str, Any]:
    if _holds_data(database):
        # Another process may have made the keys and stored data since we looked.
        keys = _read(file)
        if keys is None:
            raise ConfigurationError(
                f"{file} is missing, and {database} holds data that only its keys can open. "
                "Restore that file from a backup; new keys are made for an empty database only."
            )
        return keys
    file.parent.mkdir(parents=True, exist_ok=True)
    _write_once(file, json.dumps(_new_keys(), indent=2) + "\n")
    keys = _read(file)
    if keys is None:
        raise ConfigurationError(f"{file} was removed while the service started.")
    return keys


def _new_keys() -> dict[str, Any]:
    return {
        "SECRET_KEY": secrets.token_urlsafe(KEY_BYTES),
        "IDSYNC_TOKEN_KEYS": [secrets.token_urlsafe(KEY_BYTES)],
        "IDSYNC_SEALING_KEYS": [secrets.token_urlsafe(KEY_BYTES)],
    }


def _write_once(file: Path, text: str) -> None:
    """Make a file, complete from its first moment, readable by its owner alone; or leave it be."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            os.fchmod(descriptor, 0o600)  # whatever the umask took away
            stream.write(text)
            stream.flush()
            os.fsync(descriptor)
        try:
            os.link(draft, file)
        except FileExistsError:
            return
        _sync_folder(file.parent)
    finally:
        draft.unlink()


def _sync_folder(folder: Path) -> None:
    """Keep the new name through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _holds_data(database: Path) -> bool:
    """Whether any table has a row, apart from the schema's own version."""
    if not database.exists():
        return False
    try:
        with closing(sqlite3.connect(database, timeout=LONGEST_WAIT)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = [name.replace('"', '""') for (name,) in names if name != "alembic_version"]
            return any(
                connection.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchone()  # noqa: S608
                for table in tables
            )
    except sqlite3.Error as error:
        raise ConfigurationError(f"{database} cannot be read: {error}") from error

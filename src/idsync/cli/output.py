"""What commands share: reaching the application's parts, saying things, and failing clearly."""

from __future__ import annotations

import datetime as dt
import functools
import getpass
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from flask import current_app
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

from idsync.audit.events import COMMAND, Actor
from idsync.errors import IdSyncError

F = TypeVar("F", bound=Callable[..., Any])


def parts() -> Any:
    """The parts of the current application (`idsync.assembly.Parts`)."""
    return current_app.extensions["idsync"]


def operator() -> Actor:
    """Who runs this command, as the audit log names them: the login name on this machine."""
    try:
        login = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return COMMAND
    return Actor(COMMAND.kind, f"{COMMAND.name} ({login})")


def database_session() -> Any:
    """The database session of the current application."""
    return current_app.extensions["sqlalchemy"].session


def commit() -> None:
    """Commit the session of the current application."""
    database_session().commit()


def clear_errors(function: F) -> F:
    """Turn refusals and an unusable database into one line and exit status 1."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except IdSyncError as error:
            raise click.ClickException(str(error)) from None
        except (OperationalError, ProgrammingError) as error:
            raise click.ClickException(
                f"The database cannot be used: {error.orig}\n"
                "Is it running, and was `flask db upgrade` run?"
            ) from None
        except IntegrityError as error:
            raise click.ClickException(
                f"The database refused it: {error.orig}\n"
                "Where the site's class needs more than a name and an e-mail address, give IdSync "
                "a function: IdSync(db, account=…, new_user=…)"
            ) from None

    return wrapped  # type: ignore[return-value]


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False))


def say(text: str, value: Any, as_json: bool) -> None:
    """What a command has done: a sentence for people, or a JSON value for programs."""
    if as_json:
        print_json(value)
    else:
        click.echo(text)


def print_fields(fields: Iterable[tuple[str, Any]]) -> None:
    """Name and value, a line each."""
    rows = [(name, _text(value)) for name, value in fields]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def print_table(headings: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """Aligned columns, a row a line; without headings, more rows of a table begun before."""
    lines = [tuple(_text(value) for value in row) for row in rows]
    lines = [headings, *lines] if headings else lines
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        click.echo(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        )


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(str(one) for one in value) or "-"
    return str(value)


def iso_time(seconds: int | None) -> str | None:
    """A time in unix seconds, for people and programs: ISO 8601, in UTC."""
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()


def progress(label: str, length: int) -> Any:
    """A progress bar on standard error; none where that is no terminal."""
    return click.progressbar(
        length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()
    )

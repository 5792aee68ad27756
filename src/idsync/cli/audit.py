"""`flask idsync audit …`."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import click
from flask.cli import AppGroup

from idsync.accounts.transfer.files import CSV, FORMATS, JSON_LINES
from idsync.accounts.transfer.whole_file import whole_file
from idsync.administration.log import csv_lines, event_row
from idsync.audit.events import Event
from idsync.cli.output import clear_errors, parts, print_json, print_table, progress

audit = AppGroup("audit", help="What happened: who did what to whom, when and from where.")

STEP = 1000
"""Events after which a progress bar moves."""

DEFAULT_LIMIT = 100


def time(text: str) -> dt.datetime:
    """A date, or a date and time, in ISO 8601; in UTC where it names no zone."""
    try:
        read = dt.datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no time such as 2026-01-31 or 2026-01-31T08:00+01:00"
        ) from None
    return read if read.tzinfo else read.replace(tzinfo=dt.UTC)


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options by which events are found; all that are given must hold."""
    for option in (
        click.option("--until", type=time, metavar="TIME", help="Only events before this time."),
        click.option(
            "--since", type=time, metavar="TIME", help="Only events from this time on; UTC."
        ),
        click.option("--kind", help="Only events of this kind, such as 'account changed'."),
        click.option("--actor", help="Only what this person (id) or service (client_id) did."),
        click.option("--client-id", help="Only events of this application."),
        click.option("--subject", metavar="ID", help="Only what happened to this account."),
    ):
        command = option(command)
    return command


@audit.command("list")
@filters
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=DEFAULT_LIMIT, show_default=True,
    help="How many.",
)  # fmt: skip
@click.option("--before", type=int, metavar="EVENT", help="Only events older than this one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@clear_errors
def list_events(as_json: bool, **wanted: Any) -> None:
    """List events, newest first."""
    found = parts().audit.events(**wanted)
    if as_json:
        for event in found:
            print_json(event_row(event))
        return
    print_table(
        ("EVENT", "AT", "KIND", "BY", "FROM", "ACCOUNT", "APPLICATION", "DETAILS"),
        (
            (
                event.id,
                event.at.isoformat(),
                event.kind,
                " ".join(filter(None, (event.actor.kind, event.actor.name))),
                event.actor.address,
                event.subject,
                event.client_id,
                json.dumps(event.details, ensure_ascii=False) if event.details else None,
            )
            for event in found
        ),
    )


@audit.command("export")
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@filters
@click.option(
    "--format", "given_format", type=click.Choice(FORMATS),
    help="Else by the name of FILE, or JSON Lines.",
)  # fmt: skip
@clear_errors
def export_events(path: Path | None, given_format: str | None, **wanted: Any) -> None:
    """Write events, newest first, to FILE or to standard output, as JSON Lines or CSV.

    A FILE can be read by its owner only, and is there whole or not at all.
    """
    by_name = CSV if path is not None and path.suffix.lower() == ".csv" else JSON_LINES
    events = parts().audit.all_events(**wanted)
    try:
        with (
            _opened(path) as file,
            progress("Exporting", parts().audit.count(**wanted)) as bar,
        ):
            lines = (csv_lines if (given_format or by_name) == CSV else _json_lines)(events)
            while chunk := list(islice(lines, STEP)):
                file.writelines(chunk)
                bar.update(len(chunk))
    except OSError as error:
        raise click.ClickException(f"The events cannot be written: {error}") from None


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with whole_file(path) as file:
        yield file


def _json_lines(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        yield json.dumps(event_row(event), ensure_ascii=False) + "\n"

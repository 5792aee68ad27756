"""`flask idsync keys …`."""

from __future__ import annotations

import datetime as dt
from typing import Any

import click
from flask.cli import AppGroup

from idsync.applications.application import ID_TOKEN_ALGORITHMS
from idsync.audit.events import COMMAND
from idsync.cli.output import (
    clear_errors,
    commit,
    parts,
    print_json,
    print_table,
)

keys = AppGroup("keys", help="Keys that sign id_tokens, and those that seal secrets.")


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@clear_errors
def list_all(as_json: bool) -> None:
    """List the signing keys, newest first. Nothing private is shown."""
    rows = [_shown(row) for row in parts().signing_keys.public_rows()]
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo(
            "No keys yet: they are made when the first token is signed or keys are asked for."
        )
    else:
        print_table(
            ("KEY ID", "ALGORITHM", "CREATED", "ACTIVE FROM", "RETIRED"),
            (tuple(row.values()) for row in rows),
        )


@keys.command("rotate")
@click.option(
    "--algorithm",
    type=click.Choice(ID_TOKEN_ALGORITHMS),
    multiple=True,
    help="Which to rotate; both where left out.",
)
@clear_errors
def rotate(algorithm: tuple[str, ...]) -> None:
    """Make new signing keys. They are published at once and sign after ten minutes, when every
    application has had time to fetch them; the old ones stay published.
    """
    for one in algorithm or ID_TOKEN_ALGORITHMS:
        kid = parts().signing_keys.rotate(one)
        parts().audit.record("signing key made", COMMAND, kid=kid, algorithm=one)
        click.echo(f"{one}: {kid}")
    commit()


@keys.command("retire")
@click.argument("kid")
@clear_errors
def retire(kid: str) -> None:
    """Withdraw a signing key, above all a leaked one: what it signed is not accepted any more.
    Rotate first; id_tokens live an hour.
    """
    parts().signing_keys.retire(kid)
    parts().audit.record("signing key retired", COMMAND, kid=kid)
    commit()
    click.echo(f"{kid} is retired.")


@keys.command("reseal")
@clear_errors
def reseal() -> None:
    """Seal every secret in the database with the newest of IDSYNC_SEALING_KEYS.

    The older ones can be removed from the setting afterwards. May be interrupted and run again,
    beside a running service.
    """
    sealing = parts().sealing_keys
    sealing.check()
    for table, column, subject, purpose, label in parts().sealed_columns:
        with click.progressbar(length=sealing.stale(table, column), label=label) as bar:
            for number in sealing.reseal(table, column, subject, purpose):
                bar.update(number)
    for key_id in sealing.forget_old():
        click.echo(f"The sealing key {key_id} is not needed any more.")
    parts().audit.record("secrets resealed", COMMAND)
    commit()


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    times = ("created_at", "active_from", "retired_at")
    return {name: _iso(value) if name in times else value for name, value in row.items()}


def _iso(seconds: int | None) -> str | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()

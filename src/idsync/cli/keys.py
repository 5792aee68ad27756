"""`flask idsync keys …`."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import click
from flask.cli import AppGroup

from idsync.applications.application import ID_TOKEN_ALGORITHMS
from idsync.cli.output import (
    clear_errors,
    commit,
    iso_time,
    operator,
    parts,
    print_json,
    print_table,
    progress,
    say,
)
from idsync.oauth.signing_keys import KEPT_FOR, ROTATION_DELAY

keys = AppGroup("keys", help="Keys that sign id_tokens, and those that seal secrets.")


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@clear_errors
def list_all(as_json: bool) -> None:
    """List the signing keys, newest first. Nothing private is shown.

    next: published, signs later. signs. kept: a newer one signs, published until nothing it signed
    is valid any more. withdrawn: no longer published. retired: by hand.
    """
    rows = [_shown(row) for row in parts().signing_keys.public_rows()]
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo(
            "No keys yet: they are made when the first token is signed or keys are asked for."
        )
    else:
        print_table(
            ("KEY ID", "ALGORITHM", "CREATED", "ACTIVE FROM", "RETIRED", "STATE"),
            (tuple(row.values()) for row in rows),
        )


@keys.command("rotate")
@click.option(
    "--algorithm",
    type=click.Choice(ID_TOKEN_ALGORITHMS),
    multiple=True,
    help="Which to rotate; both where left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def rotate(algorithm: tuple[str, ...], as_json: bool) -> None:
    """Make new signing keys. They are published at once and sign after ten minutes, when every
    application has had time to fetch them. The old ones stay published until nothing they signed
    is valid any more; nothing else is to be done.
    """
    made = {}
    for one in algorithm or ID_TOKEN_ALGORITHMS:
        made[one] = parts().signing_keys.rotate(one, partial(_note_made, one))
    signs = int(time.time()) + ROTATION_DELAY
    lines = [f"{one}: {kid}" for one, kid in made.items()]
    lines.append(
        f"Published now, signing from {iso_time(signs)} on; the keys they follow are withdrawn by "
        f"themselves at {iso_time(signs + KEPT_FOR)}."
    )
    say("\n".join(lines), made, as_json)


# An id is the key's hash and may begin with a hyphen, as options do.
@keys.command("retire", context_settings={"ignore_unknown_options": True})
@click.argument("kid")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def retire(kid: str, as_json: bool) -> None:
    """Take a leaked signing key out of use: what it signed is accepted nowhere any more. Rotate
    first, and wait ten minutes. A key that did not leak need not be retired.
    """
    parts().signing_keys.retire(
        kid, lambda kid: parts().audit.record("signing key retired", operator(), kid=kid)
    )
    say(f"{kid} is retired.", {"kid": kid}, as_json)


@keys.command("reseal")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def reseal(as_json: bool) -> None:
    """Seal every secret in the database with the newest of IDSYNC_SEALING_KEYS.

    The older ones can be removed from the setting afterwards. May be interrupted and run again,
    beside a running service.
    """
    sealing, resealed = parts().sealing_keys, 0
    sealing.check()
    for table, column, subject, purpose, label in parts().sealed_columns:
        with progress(label, sealing.stale(table, column)) as bar:
            for number in sealing.reseal(table, column, subject, purpose):
                resealed += number
                bar.update(number)
    forgotten = sealing.forget_old()
    parts().audit.record("secrets resealed", operator())
    commit()
    said = [f"{resealed} secrets were sealed anew."]
    said += [f"The sealing key {key_id} is not needed any more." for key_id in forgotten]
    say("\n".join(said), {"resealed": resealed, "not_needed": forgotten}, as_json)


def _note_made(algorithm: str, kid: str) -> None:
    parts().audit.record("signing key made", operator(), kid=kid, algorithm=algorithm)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    times = ("created_at", "active_from", "retired_at")
    return {name: iso_time(value) if name in times else value for name, value in row.items()}

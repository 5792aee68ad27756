"""`flask idsync adopt`, `directory verify`, `restored`, `check` and `prune`."""

from __future__ import annotations

import sys

import click
from flask import current_app
from flask.cli import AppGroup, with_appcontext

from idsync.accounts.adoption import Adoption
from idsync.accounts.names import fold_all_names
from idsync.checks import circumstances, unsafe_settings
from idsync.cli.output import (
    clear_errors,
    commit,
    database_session,
    operator,
    parts,
    print_json,
    progress,
    say,
)
from idsync.cli.verification import problems

directory = AppGroup("directory", help="The accounts and their order of changes.")


@click.command("adopt")
@with_appcontext
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def adopt(as_json: bool) -> None:
    """Take the site's people into the directory, and every name into the search. May be run again;
    nobody is taken twice.
    """
    adoption = Adoption(database_session(), parts().models)
    total, adopted = adoption.missing(), 0
    with progress("Adopting", total) as bar:
        for number in adoption.run(parts().audit, operator()):
            adopted += number
            bar.update(number)
    names = sum(fold_all_names(database_session(), parts().models))
    ambiguous = adoption.ambiguous_emails()
    if as_json:
        print_json({"adopted": adopted, "names": names, "ambiguous_emails": ambiguous})
        return
    click.echo(f"{adopted} people adopted.")
    if names:
        click.echo(f"{names} names can be searched for that could not.")
    for email, keys in ambiguous.items():
        click.echo(
            f"{email}: people {', '.join(map(str, keys))} have it, differing by case; only the "
            "first can sign in by it until the others get another address."
        )


@directory.command("verify")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def verify(as_json: bool) -> None:
    """Look for what should not be: people without a row, keys out of step, secrets that do not
    open, revisions ahead of the counter. Exit status 1 when something is found.
    """
    found = []
    with click.progressbar(
        problems(database_session(), parts()), label="Verifying", file=sys.stderr, hidden=as_json
    ) as bar:
        found = [problem for problem in bar if problem is not None]
    if as_json:
        print_json({"problems": found})
    for problem in [] if as_json else found:
        click.echo(problem)
    if found:
        raise click.exceptions.Exit(1)
    if not as_json:
        click.echo("The directory is sound.")


@click.command("restored")
@with_appcontext
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def restored(as_json: bool) -> None:
    """Say that the database was restored from a backup: consuming services then take the whole
    list instead of following on from changes that no longer exist.
    """
    parts().revisions.renew_incarnation(database_session())
    parts().audit.record("directory restored", operator())
    commit()
    _, revision = parts().revisions.current(database_session())
    said = "Every service will take the whole list at its next pull."
    say(said, {"revision": revision}, as_json)


@click.command("check")
@with_appcontext
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def check(as_json: bool) -> None:
    """Check keys and settings. Exit status 1 when something is unsafe."""
    parts().sealing_keys.check()
    mail = parts().sign_in.email.offered
    warnings = unsafe_settings(parts().settings, circumstances(current_app, mail=mail))
    if as_json:
        print_json({"warnings": warnings})
    else:
        for warning in warnings:
            click.echo(warning)
    if warnings:
        raise click.exceptions.Exit(1)
    if not as_json:
        click.echo("Keys and settings are in order.")


@click.command("prune")
@with_appcontext
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def prune(as_json: bool) -> None:
    """Delete grants and sessions that can never matter again, and events older than
    IDSYNC_AUDIT_DAYS. Safe beside a running service; run it daily.
    """
    pruning, total = parts().pruning, 0
    with progress("Pruning", pruning.count()) as bar:
        for number in pruning.run():
            total += number
            bar.update(number)
    if total:
        parts().audit.record("old rows deleted", operator(), rows=total)
        commit()
    say(f"{total} rows deleted.", {"deleted": total}, as_json)

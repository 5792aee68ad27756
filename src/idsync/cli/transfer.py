"""`flask idsync account import` and `export`."""

from __future__ import annotations

import io
from itertools import islice
from pathlib import Path

import click

from idsync.accounts.transfer.files import FORMATS, Writer
from idsync.accounts.transfer.importing import Written
from idsync.accounts.transfer.spool import Spool
from idsync.accounts.transfer.whole_file import whole_file
from idsync.cli.accounts import account
from idsync.cli.output import clear_errors, operator, parts, print_json, progress

SHOWN = 100
"""Problems of a file that are shown; whoever made it has seen what is wrong by then."""

STEP = 1000
"""Lines after which a progress bar moves."""


def file_format(path: Path, given: str | None) -> str:
    """The format asked for, or the one a file's name ends with."""
    ending = given or path.suffix.removeprefix(".").lower()
    if ending not in FORMATS:
        raise click.UsageError(f"Say --format: {path.name} ends neither with .csv nor .jsonl.")
    return ending


@account.command("import")
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--format", "given_format", type=click.Choice(FORMATS), help="Else by its name.")
@click.option("--check", is_flag=True, help="Only check the file; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def import_people(path: Path, given_format: str | None, check: bool, as_json: bool) -> None:
    """Take people from a file, CSV or JSON Lines, into the directory.

    The whole file is checked first; if a line is wrong, nothing is written, and exit status is 1.
    A person who is there already, by id or else by e-mail address, gets the tags and keeps
    everything else. After an interruption run it again: it goes on where it stopped.
    """
    spool = Spool()
    try:
        _check(path, file_format(path, given_format), spool)
        done = Written(0, 0, 0) if check else _write(spool)
        total = spool.count()
    finally:
        spool.close()
    if as_json:
        print_json(
            {
                "people": total,
                "created": done.created,
                "attached": done.attached,
                "unchanged": done.unchanged,
            }
        )
    elif check:
        click.echo(f"{total} people can be imported.")
    else:
        click.echo(
            f"{total} people: {done.created} new, {done.attached} were there and got tags, "
            f"{done.unchanged} were there with everything."
        )


@account.command("export")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--format", "given_format", type=click.Choice(FORMATS), help="Else by its name.")
@click.option(
    "--with-passwords",
    is_flag=True,
    help="With the exchange hashes: whoever reads the file can try passwords at leisure.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def export_people(
    path: Path, given_format: str | None, with_passwords: bool, as_json: bool
) -> None:
    """Write everybody to a file, CSV or JSON Lines, that `account import` takes.

    Only its owner can read it, and it is there whole or not at all. Second factors and the right
    of an administrator are not in it; nor are passwords that are no exchange hashes, nor people
    whom an import would refuse, who are named on standard error.
    """
    wanted = file_format(path, given_format)
    exports, behind, total, left_out = parts().exports, 0, 0, 0
    try:
        with whole_file(path) as file:
            written = exports.write(
                Writer(file, wanted), with_passwords=with_passwords, actor=operator()
            )
            with progress("Exporting", exports.count()) as bar:
                while chunk := list(islice(written, STEP)):
                    for one in chunk:
                        if one.problem is not None:
                            left_out += 1
                            click.echo(f"{one.subject} is left out: {one.problem}", err=True)
                        else:
                            total += 1
                            behind += not one.whole
                    bar.update(len(chunk))
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error}") from None
    if as_json:
        print_json({"people": total, "left_out": left_out, "passwords_left_behind": behind})
        return
    click.echo(f"{total} people are in {path}.")
    if left_out:
        click.echo(f"{left_out} people were left out, because an import would refuse them.")
    if behind:
        click.echo(f"The passwords of {behind} are no exchange hashes and stayed behind.")


def _check(path: Path, wanted: str, spool: Spool) -> None:
    """Read a file into a spool. Exits with status 1 where a line is wrong."""
    wrong = 0
    with (
        path.open("rb") as raw,
        io.TextIOWrapper(raw, "utf-8", errors="surrogateescape", newline="") as file,
        progress("Checking", path.stat().st_size) as bar,
    ):
        problems = parts().imports.check(file, wanted, spool)
        while chunk := list(islice(problems, STEP)):
            found = [problem for problem in chunk if problem is not None]
            for problem in found[: max(0, SHOWN - wrong)]:
                click.echo(str(problem), err=True)
            wrong += len(found)
            bar.update(raw.tell() - bar.pos)
    if wrong > SHOWN:
        click.echo(f"and {wrong - SHOWN} more", err=True)
    if wrong:
        raise click.ClickException(f"Nothing was imported: {wrong} lines are wrong.")


def _write(spool: Spool) -> Written:
    done = Written(0, 0, 0)
    with progress("Importing", spool.count()) as bar:
        for batch in parts().imports.write(spool, actor=operator()):
            done = _sum(done, batch)
            bar.update(batch.created + batch.attached + batch.unchanged)
    return done


def _sum(one: Written, other: Written) -> Written:
    return Written(
        one.created + other.created,
        one.attached + other.attached,
        one.unchanged + other.unchanged,
    )

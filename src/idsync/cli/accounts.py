"""`flask idsync account …`."""

from __future__ import annotations

import sys
from typing import Any

import click
from flask.cli import AppGroup

from idsync.accounts.change import Change
from idsync.accounts.record import Account
from idsync.cli.output import (
    clear_errors,
    commit,
    operator,
    parts,
    print_fields,
    print_json,
    print_table,
    say,
)
from idsync.errors import UnknownRecord

PAGE = 500
"""Accounts read at a time."""

HEADINGS = ("ID", "NAME", "E-MAIL", "TAGS", "DISABLED", "TWO FACTORS", "ADMINISTRATOR")

account = AppGroup("account", help="People's accounts.")


@account.command("add")
@click.option("--name", required=True, help="The person's name.")
@click.option("--email", help="E-mail address, by which they sign in.")
@click.option("--id", "subject", help="Identifier to keep; made where it is left out.")
@click.option("--phone", help="Phone number in international form, +4930123456.")
@click.option("--tag", "tags", multiple=True, help="Service or role tag. May be repeated.")
@click.option("--administrator", is_flag=True, help="May use the administration console.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def add(password_stdin: bool, as_json: bool, **values: Any) -> None:
    """Make an account and print its id."""
    password = _password_from_stdin() if password_stdin else None
    record = parts().directory.add(actor=operator(), password=password, **values)
    commit()
    if as_json:
        print_json({"id": record.subject})
    else:
        click.echo(record.subject)


@account.command("list")
@click.argument("prefix", default="")
@click.option("--tag", help="Only accounts with this tag.")
@click.option("--disabled/--enabled", default=None, help="Only disabled, or only enabled accounts.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after so many.")
@click.option("--after", help="Go on after an earlier list with --limit, which says this.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@clear_errors
def list_all(limit: int | None, as_json: bool, **wanted: Any) -> None:
    """List the accounts whose name, e-mail address or id begins with PREFIX; all without one.

    Names and addresses are compared without case. Accounts come by name, then those found by
    their address, then by their id.
    """
    headings: tuple[str, ...] = HEADINGS
    left = limit
    while True:
        page = parts().directory.search(limit=min(PAGE, left or PAGE), **wanted)
        if as_json:
            for one in page.accounts:
                print_json(_shown(one))
        elif headings or page.accounts:
            print_table(headings, (_row(one) for one in page.accounts))
            headings = ()
        if left is not None:
            left -= len(page.accounts)
        if page.after is None:
            return
        if left == 0:
            click.echo(f"There are more: --after {page.after}", err=True)
            return
        wanted["after"] = page.after


@account.command("show")
@click.argument("account_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def show(account_id: str, as_json: bool) -> None:
    """Show one account."""
    found = parts().directory.find(account_id)
    if found is None:
        raise UnknownRecord(f"No account has the id {account_id!r}.")
    if as_json:
        print_json(_shown(found))
    else:
        print_fields(_shown(found).items())


@account.command("edit")
@click.argument("account_id", metavar="ID")
@click.option("--name", help="New name.")
@click.option("--email", help="New e-mail address; empty for none.")
@click.option("--phone", help="New phone number; empty for none.")
@click.option("--tag", "tags_add", multiple=True, help="Tag to add. May be repeated.")
@click.option("--untag", "tags_remove", multiple=True, help="Tag to remove. May be repeated.")
@click.option(
    "--administrator/--no-administrator", default=None, help="May use the administration console."
)
@click.option("--password-stdin", is_flag=True, help="Read a new password from standard input.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def edit(account_id: str, password_stdin: bool, as_json: bool, **values: Any) -> None:
    """Change an account; what is left out stays as it is. A new password ends its sessions."""
    changes = {name: value for name, value in values.items() if value not in (None, ())}
    for name in ("email", "phone"):
        if changes.get(name) == "":
            changes[name] = None
    if password_stdin:
        changes["password"] = _password_from_stdin()
    if not changes:
        raise click.UsageError("Nothing to change; see --help.")
    _change(account_id, Change(**changes), as_json)


@account.command("disable")
@click.argument("account_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def disable(account_id: str, as_json: bool) -> None:
    """Disable an account everywhere, at once. Only an administrator can enable it again."""
    _change(account_id, Change(disabled=True), as_json)


@account.command("enable")
@click.argument("account_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def enable(account_id: str, as_json: bool) -> None:
    """Enable an account again, whoever disabled it."""
    _change(account_id, Change(disabled=False), as_json)


@account.command("erase")
@click.argument("account_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def erase(account_id: str, yes: bool, as_json: bool) -> None:
    """Erase an account and its user for good; only the id stays taken."""
    if not yes:
        click.confirm(f"Erase {account_id} for good?", abort=True, err=True)
    parts().directory.erase(account_id, actor=operator())
    commit()
    say(f"{account_id} is erased.", {"id": account_id}, as_json)


@account.command("sign-out")
@click.argument("account_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def sign_out(account_id: str, as_json: bool) -> None:
    """Sign a person out everywhere: every session, code and token ends."""
    parts().directory.sign_out_everywhere(account_id, actor=operator())
    commit()
    say(f"{account_id} is signed out everywhere.", {"id": account_id}, as_json)


@account.command("reset-factors")
@click.argument("account_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def reset_factors(account_id: str, as_json: bool) -> None:
    """Take all second factors from somebody who lost them, and sign them out everywhere.

    Make sure that it is their owner who asks: afterwards the password alone signs in.
    """
    parts().sign_in.factors.reset(account_id, actor=operator())
    commit()
    say(f"{account_id} has no second factor any more.", {"id": account_id}, as_json)


def _change(account_id: str, change: Change, as_json: bool) -> None:
    parts().directory.change(account_id, change, actor=operator())
    commit()
    changed = _shown(parts().directory.find(account_id))
    if as_json:
        print_json(changed)
    else:
        print_fields(changed.items())


def _password_from_stdin() -> str:
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("No password came on standard input.")
    return password


def _row(one: Account) -> tuple[Any, ...]:
    tags = sorted(one.tags)
    return one.subject, one.name, one.email, tags, one.disabled, one.mfa, one.administrator


def _shown(one: Account) -> dict[str, Any]:
    return {
        "id": one.subject,
        "name": one.name,
        "email": one.email,
        "email_verified": one.email_verified,
        "phone": one.phone,
        "tags": sorted(one.tags),
        "disabled": one.disabled,
        "mfa": one.mfa,
        "administrator": one.administrator,
        "updated_at": one.updated_at.isoformat(),
    }

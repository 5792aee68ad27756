"""`flask idsync application …`."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from typing import Any

import click
from flask.cli import AppGroup

from idsync.applications.application import ID_TOKEN_ALGORITHMS, Application
from idsync.audit.events import COMMAND
from idsync.cli.output import (
    clear_errors,
    commit,
    database_session,
    parts,
    print_fields,
    print_json,
    print_table,
)
from idsync.errors import UnknownRecord

application = AppGroup("application", help="Client applications: who may sign people in.")


@application.command("add")
@click.argument("name")
@click.option(
    "--redirect-uri",
    "redirect_uris",
    multiple=True,
    help="Return address, exactly as the application sends it. May be repeated.",
)
@click.option(
    "--post-logout-redirect-uri",
    "post_logout_redirect_uris",
    multiple=True,
    help="Address a person may be sent to after signing out. May be repeated.",
)
@click.option(
    "--scope",
    "scopes",
    default="openid profile email",
    show_default=True,
    help="Rights granted, space-separated; offline_access allows refresh tokens.",
)
@click.option("--public", is_flag=True, help="No secret: single-page, mobile or desktop.")
@click.option("--first-party", is_flag=True, help="Skip the consent page.")
@click.option("--accounts", is_flag=True, help="Right to the account API (password hashes!).")
@click.option("--service-tag", help="Only people with this tag may use the application.")
@click.option(
    "--id-token-alg",
    "id_token_algorithm",
    default="RS256",
    show_default=True,
    type=click.Choice(ID_TOKEN_ALGORITHMS),
    help="Signature of its id_tokens.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def add(as_json: bool, **values: Any) -> None:
    """Register an application and print its credentials. The secret is shown only now."""
    registration = parts().applications.register(**values)
    parts().audit.record(
        "application registered", COMMAND, client_id=registration.application.client_id
    )
    commit()
    credentials = {"client_id": registration.application.client_id}
    if registration.client_secret is not None:
        credentials["client_secret"] = registration.client_secret
    if as_json:
        print_json(credentials)
        return
    print_fields(credentials.items())
    if registration.client_secret is not None:
        click.echo("Keep the secret now; it is stored nowhere and not shown again.", err=True)


@application.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@clear_errors
def list_all(as_json: bool) -> None:
    """List the applications by name."""
    everything = parts().applications.all()
    if as_json:
        print_json([{**_shown(one), **_pulled(one)} for one in everything])
        return
    print_table(
        (
            "CLIENT ID",
            "NAME",
            "KIND",
            "ACTIVE",
            "FIRST PARTY",
            "ACCOUNTS",
            "SERVICE TAG",
            "LAST PULL",
            "BEHIND",
        ),
        (
            (
                one.client_id,
                one.name,
                "public" if one.public else "confidential",
                one.active,
                one.first_party,
                one.accounts,
                one.service_tag,
                *_pulled(one).values(),
            )
            for one in everything
        ),
    )


@application.command("show")
@click.argument("client_id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def show(client_id: str, as_json: bool) -> None:
    """Show one application."""
    found = parts().applications.find(client_id)
    if found is None:
        raise UnknownRecord(f"No application has the client_id {client_id!r}.")
    if as_json:
        print_json({**_shown(found), **_pulled(found)})
    else:
        print_fields({**_shown(found), **_pulled(found)}.items())


@application.command("edit")
@click.argument("client_id")
@click.option("--name", help="New name.")
@click.option(
    "--redirect-uri",
    "redirect_uris",
    multiple=True,
    help="Return address; those given replace all earlier ones. May be repeated.",
)
@click.option(
    "--post-logout-redirect-uri",
    "post_logout_redirect_uris",
    multiple=True,
    help="Address after signing out; those given replace all earlier ones. May be repeated.",
)
@click.option("--scope", "scopes", help="Rights granted, space-separated.")
@click.option("--first-party/--no-first-party", default=None, help="Skip the consent page.")
@click.option("--accounts/--no-accounts", default=None, help="Right to the account API.")
@click.option("--service-tag", help="Only people with this tag; empty for everybody.")
@click.option(
    "--id-token-alg",
    "id_token_algorithm",
    type=click.Choice(ID_TOKEN_ALGORITHMS),
    help="Signature of its id_tokens.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def edit(client_id: str, as_json: bool, **values: Any) -> None:
    """Change an application; what is left out stays as it is."""
    changes = {name: value for name, value in values.items() if value not in (None, ())}
    if "scopes" in changes:
        changes["scopes"] = tuple(dict.fromkeys(changes["scopes"].split()))
    if "service_tag" in changes:
        changes["service_tag"] = changes["service_tag"] or None
    if not changes:
        raise click.UsageError("Nothing to change; see --help.")
    changed = parts().applications.edit(client_id, **changes)
    parts().audit.record(
        "application changed", COMMAND, client_id=client_id, fields=sorted(changes)
    )
    commit()
    if as_json:
        print_json(_shown(changed))
    else:
        print_fields(_shown(changed).items())


@application.command("rotate-secret")
@click.argument("client_id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def rotate_secret(client_id: str, as_json: bool) -> None:
    """Replace the secret. The old one stops working at once; the new one is shown only now."""
    registration = parts().applications.rotate_secret(client_id)
    parts().audit.record("secret rotated", COMMAND, client_id=client_id)
    commit()
    credentials = {"client_id": client_id, "client_secret": registration.client_secret}
    if as_json:
        print_json(credentials)
    else:
        print_fields(credentials.items())


@application.command("activate")
@click.argument("client_id")
@clear_errors
def activate(client_id: str) -> None:
    """Let an application sign people in again."""
    _switch(client_id, active=True)


@application.command("deactivate")
@click.argument("client_id")
@clear_errors
def deactivate(client_id: str) -> None:
    """Switch an application off: no sign-in, no tokens, no account API."""
    _switch(client_id, active=False)


def _switch(client_id: str, *, active: bool) -> None:
    parts().applications.edit(client_id, active=active)
    kind = "application activated" if active else "application deactivated"
    parts().audit.record(kind, COMMAND, client_id=client_id)
    commit()
    click.echo(f"{client_id} is {'active' if active else 'switched off'}.")


def _pulled(one: Application) -> dict[str, Any]:
    """When a service last pulled, and how many changes of the directory it had not seen then.

    None for both where it never did; `behind` None where it holds nothing to follow on from.
    """
    pull = parts().pulls.all().get(one.client_id)
    if pull is None:
        return {"last_pull": None, "behind": None}
    incarnation, revision = parts().revisions.current(database_session())
    knows = pull.revision and pull.incarnation == incarnation
    at = dt.datetime.fromtimestamp(pull.at, dt.UTC).isoformat()
    return {"last_pull": at, "behind": revision - pull.revision if knows else None}


def _shown(one: Application) -> dict[str, Any]:
    values = asdict(one)
    del values["secret_digest"]
    created = dt.datetime.fromtimestamp(one.created_at, dt.UTC)
    return {**values, "public": one.public, "created_at": created.isoformat()}

"""`flask idsync application …`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click
from flask.cli import AppGroup

from idsync.applications.application import ID_TOKEN_ALGORITHMS, Application
from idsync.applications.registry import LONGEST_OVERLAP
from idsync.cli.output import (
    clear_errors,
    database_session,
    iso_time,
    operator,
    parts,
    print_fields,
    print_json,
    print_table,
    say,
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
    "--backchannel-logout-uri",
    help="Address that is told of ended sessions (back-channel logout); see `deliver`.",
)
@click.option(
    "--backchannel-logout-session-required",
    is_flag=True,
    help="When everything of a person ends, name each session instead of the person alone.",
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
    registration = parts().applications.register(actor=operator(), **values)
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
    everything, pulled = parts().applications.all(), _pulls()
    if as_json:
        print_json([{**_shown(one), **pulled(one)} for one in everything])
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
            "BACK-CHANNEL LOGOUT",
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
                one.backchannel_logout_uri,
                *pulled(one).values(),
            )
            for one in everything
        ),
    )


@application.command("show")
@click.argument("client_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def show(client_id: str, as_json: bool) -> None:
    """Show one application."""
    found = parts().applications.find(client_id)
    if found is None:
        raise UnknownRecord(f"No application has the client_id {client_id!r}.")
    fields = {**_shown(found), **_pulls()(found)}
    if as_json:
        print_json(fields)
    else:
        print_fields(fields.items())


@application.command("edit")
@click.argument("client_id", metavar="ID")
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
@click.option(
    "--backchannel-logout-uri", help="Address that is told of ended sessions; empty for none."
)
@click.option(
    "--backchannel-logout-session-required/--no-backchannel-logout-session-required",
    default=None,
    help="Name each session when everything of a person ends.",
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
    for name in {"service_tag", "backchannel_logout_uri"} & changes.keys():
        changes[name] = changes[name] or None
    if not changes:
        raise click.UsageError("Nothing to change; see --help.")
    changed = parts().applications.edit(client_id, actor=operator(), **changes)
    if as_json:
        print_json(_shown(changed))
    else:
        print_fields(_shown(changed).items())


@application.command("rotate-secret")
@click.argument("client_id", metavar="ID")
@click.option(
    "--overlap",
    metavar="SECONDS",
    type=click.IntRange(0, LONGEST_OVERLAP),
    default=0,
    help="For how long the old secret goes on working beside the new one, at most 30 days. "
    "Leave it out where the old one may have leaked.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def rotate_secret(client_id: str, overlap: int, as_json: bool) -> None:
    """Replace the secret. The new one is shown only now; the old one stops working at once, or
    after --overlap. A third one that still worked from the last rotation stops at once.
    """
    registration = parts().applications.rotate_secret(client_id, actor=operator(), overlap=overlap)
    credentials = {"client_id": client_id, "client_secret": registration.client_secret}
    until = registration.application.previous_secret_until
    if until is not None:
        credentials["previous_secret_until"] = iso_time(until)
    if as_json:
        print_json(credentials)
        return
    print_fields(credentials.items())
    click.echo("Keep the secret now; it is stored nowhere and not shown again.", err=True)


@application.command("activate")
@click.argument("client_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def activate(client_id: str, as_json: bool) -> None:
    """Let an application sign people in again."""
    _switch(client_id, as_json, active=True)


@application.command("deactivate")
@click.argument("client_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@clear_errors
def deactivate(client_id: str, as_json: bool) -> None:
    """Switch an application off: no sign-in, no tokens, no account API."""
    _switch(client_id, as_json, active=False)


def _switch(client_id: str, as_json: bool, *, active: bool) -> None:
    changed = parts().applications.switch(client_id, active=active, actor=operator())
    state = "active" if active else "switched off"
    say(f"{client_id} is {state}.", _shown(changed), as_json)


def _pulls() -> Callable[[Application], dict[str, Any]]:
    """Tells when a service last pulled, and how many changes it had not seen then.

    None for both where it never did; `behind` None where it holds nothing to follow on from.
    """
    pulls = parts().pulls.all()
    incarnation, revision = parts().revisions.current(database_session())

    def pulled(one: Application) -> dict[str, Any]:
        pull = pulls.get(one.client_id)
        if pull is None:
            return {"last_pull": None, "behind": None}
        return {"last_pull": iso_time(pull.at), "behind": pull.behind(incarnation, revision)}

    return pulled


def _shown(one: Application) -> dict[str, Any]:
    values = asdict(one)
    del values["secret_digest"], values["previous_secret_digest"]
    until = one.previous_secret_until if one.previous_secret_works else None
    return {
        **values,
        "public": one.public,
        "created_at": iso_time(one.created_at),
        "previous_secret_until": iso_time(until),
    }

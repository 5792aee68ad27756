"""`flask idsync …`: the operator's commands. Each reads from and writes to the current application.

Start with `commands`, which lists the groups.
"""

from flask.cli import AppGroup

from idsync.cli import transfer  # noqa: F401 - its commands join those of accounts
from idsync.cli.accounts import account
from idsync.cli.applications import application
from idsync.cli.audit import audit
from idsync.cli.delivery import deliver
from idsync.cli.directory import adopt, check, directory, prune, restored
from idsync.cli.keys import keys


def commands() -> AppGroup:
    """The group `idsync` with all its commands."""
    group = AppGroup(
        "idsync", help="Run the identity service: applications, accounts, keys, events."
    )
    for command in (
        application,
        account,
        keys,
        audit,
        directory,
        adopt,
        deliver,
        prune,
        restored,
        check,
    ):
        group.add_command(command)
    return group

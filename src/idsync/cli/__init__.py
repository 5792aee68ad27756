"""`flask idsync …`: the operator's commands. Each reads from and writes to the current application.

Start with `commands`, which lists the groups.
"""

from flask.cli import AppGroup

from idsync.cli.accounts import account
from idsync.cli.applications import application
from idsync.cli.directory import adopt, check, directory, prune, restored
from idsync.cli.keys import keys


def commands() -> AppGroup:
    """The group `idsync` with all its commands."""
    group = AppGroup("idsync", help="Run the identity service: applications, accounts, keys.")
    for command in (application, account, keys, directory, adopt, prune, restored, check):
        group.add_command(command)
    return group

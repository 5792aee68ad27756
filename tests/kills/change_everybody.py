"""A site's script: every account gets a new name and a tag, one transaction each."""

from host_app import create_app
from host_app.models import db, identity
from idsync.accounts.change import Change
from idsync.audit.events import Actor

SCRIPT = Actor("system", "change_everybody")

with create_app().app_context():
    accounts = list(identity.directory.accounts())
    for account in accounts:
        if "changed" not in account.tags:
            wanted = Change(name=f"{account.name}, changed", tags_add=("changed",))
            identity.directory.change(account.subject, wanted, actor=SCRIPT)
            db.session.commit()

"""The console: everything an administrator can do. Who has one was let in.

    console = identity.require_administrator()      # raises, unless this is an administrator
    console.people.disable("ada")                   # told in the audit log under their name

A console is for one request; the next one asks again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Table

from idsync.account_api.pulls import Pulls
from idsync.accounts.administrators import Administrators
from idsync.accounts.directory import Directory
from idsync.accounts.record import AccountModels
from idsync.accounts.revision import Revisions
from idsync.accounts.sealing_keys import SealingKeys
from idsync.administration.access import check_access
from idsync.administration.keys import Keys
from idsync.administration.log import Log
from idsync.administration.overview import Overview
from idsync.administration.people import People
from idsync.administration.registrations import Registrations
from idsync.administration.services import Services
from idsync.administration.transactions import Transactions
from idsync.applications.registry import Applications, guarded
from idsync.audit.events import Actor, Audit
from idsync.database import DatabaseSession
from idsync.oauth.signing_keys import SigningKeys
from idsync.settings import Settings
from idsync.signin.assembly import SignIn


@dataclass(frozen=True, slots=True)
class Console:
    """What one administrator can do, for one request.

    administrator: their id.
    """

    administrator: str
    people: People
    applications: Registrations
    services: Services
    keys: Keys
    log: Log
    overview: Overview


@dataclass(frozen=True, slots=True)
class Entrance:
    """Lets administrators in."""

    session: DatabaseSession
    settings: Settings
    models: AccountModels
    erased: Table
    events: Table
    directory: Directory
    applications: Applications
    sign_in: SignIn
    pulls: Pulls
    revisions: Revisions
    signing_keys: SigningKeys
    sealing_keys: SealingKeys
    audit: Audit

    def enter(self, *, second_factor: bool) -> Console:
        """The console of who is signed in at this browser.

        Raises RecentSignInRequired, AdministratorRequired, SecondFactorRequired.
        """
        signed_in = check_access(
            self.sign_in.browser.current(), second_factor=second_factor, now=time.time()
        )
        actor = Actor("person", signed_in.account.subject)
        transactions = Transactions(
            self.session, Administrators(self.session, self.models), signed_in
        )
        services = Services(self.session, self.applications, self.pulls, self.revisions)
        return Console(
            administrator=signed_in.account.subject,
            people=People(
                self.session,
                self.models,
                self.erased,
                self.directory,
                self.sign_in.factors,
                services,
                self.settings.role_map,
                actor,
                transactions,
            ),
            applications=Registrations(guarded(self.applications, transactions.confirm), actor),
            services=services,
            keys=Keys(self.signing_keys, self.sealing_keys, self.audit, actor, transactions),
            log=Log(self.audit),
            overview=Overview(self.session, self.events),
        )

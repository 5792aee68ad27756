"""An administrator who was let in, and to whom the console was closed before the change."""

from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

import hosting
from console_kit import Desk, sit_down
from host_app.models import db, identity
from idsync import AdministratorRequired, Console, RecentSignInRequired
from idsync.accounts.change import Change
from idsync.administration.registrations import ApplicationTerms
from idsync.audit.events import COMMAND

TERMS = ApplicationTerms(
    name="Wiki",
    redirect_uris=("https://wiki.example/",),
    post_logout_redirect_uris=(),
    scopes=("openid",),
    first_party=False,
    accounts=False,
    service_tag=None,
    id_token_algorithm="RS256",
)


@pytest.fixture
def desk(app: Flask) -> Desk:
    return sit_down(app)


DEEDS: dict[str, Callable[[Console, str, str], object]] = {
    "add": lambda console, person, _: console.people.add(name="Mallory", administrator=True),
    "disable": lambda console, person, _: console.people.disable(person),
    "reset factors": lambda console, person, _: console.people.reset_factors(person),
    "erase": lambda console, person, _: console.people.erase(person),
    "register": lambda console, _, client_id: console.applications.register(TERMS, public=False),
    "edit": lambda console, _, client_id: console.applications.edit(
        client_id, TERMS, version=console.applications.find(client_id).version
    ),
    "new secret": lambda console, _, client_id: console.applications.rotate_secret(
        client_id, overlap_days=0
    ),
    "deactivate": lambda console, _, client_id: console.applications.deactivate(client_id),
    "new key": lambda console, *_: console.keys.rotate("RS256"),
}

MEANWHILE = {
    "demoted": (Change(administrator=False), AdministratorRequired),
    "disabled": (Change(disabled=True), AdministratorRequired),
    "signed out": (None, RecentSignInRequired),
}


@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("deed", DEEDS)
def test_whoever_was_let_in_before_does_nothing_more(
    app: Flask, desk: Desk, deed: str, meanwhile: str
) -> None:
    """Every change asks once more, in its own transaction, and leaves no event either."""
    person = hosting.add_person(app, "Omar", "omar@example.org")
    client_id = hosting.register_application(app, "Old").client_id
    desk.get("/keys")
    change, refusal = MEANWHILE[meanwhile]
    with desk.browser:
        desk.get()
        console = identity.require_administrator()
        db.session.rollback()
        with app.app_context():
            if change is None:
                identity.directory.sign_out_everywhere(desk.person.id, actor=COMMAND)
            else:
                identity.directory.change(desk.person.id, change, actor=COMMAND)
            db.session.commit()
            before = identity.audit.count()
        with pytest.raises(refusal):
            DEEDS[deed](console, person.id, client_id)
        assert identity.audit.count() == before


def test_a_change_that_others_held_up_is_made_all_the_same(app: Flask, desk: Desk) -> None:
    """As after a deadlock with an import, whose transaction locks in another order."""
    person = hosting.add_person(app, "Omar", "omar@example.org")
    held_up = []

    def hold_up(session: Session, *_: object) -> None:
        if not held_up:
            held_up.append(session)
            error = Exception()
            error.sqlstate, error.sqlite_errorcode = "40P01", 5
            raise OperationalError("UPDATE", {}, error)

    with desk.browser:
        desk.get()
        console = identity.require_administrator()
        event.listen(db.session(), "before_flush", hold_up)
        console.people.disable(person.id)
        assert identity.directory.find(person.id).disabled
        assert held_up
        assert len(identity.audit.events(subject=person.id, kind="account changed")) == 1

"""Any sequence of calls and commands leaves what a simple model says, and readers follow it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import text

from account_api.calling import Service, counter, refusal
from account_api.copies import CopyBySince
from account_api.model import Expected, Model
from host_app.models import db, identity
from idsync.accounts.change import Change
from idsync.audit.events import COMMAND

HASHES = [f"pbkdf2$10000$salt{number}$" + f"{number}" * 64 for number in range(3)]
TAGS = ["wiki", "mail", "администратор", "наставник", "ученик"]
FOLLOWED = "wiki"

# Few of each, so that they meet; and one in some that is wrong.
names = st.sampled_from(["Ada", "Bob", "Ада", "日本", " "])
emails = st.sampled_from(
    ["ada@example.org", "ADA@example.org", "bob@example.org", "Bob@example.org", None, "nobody"]
)
hashes = st.sampled_from([*HASHES, "correct horse"])
some_tags = st.lists(st.sampled_from([*TAGS, *TAGS, ""]), max_size=3)
own_ids = st.sampled_from(["a1", "b2", "c3", "no id"])

creations = st.fixed_dictionaries(
    {"name": names},
    optional={
        "email": emails,
        "password": st.one_of(st.none(), hashes),
        "tags": some_tags,
        "id": own_ids,
    },
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "email": emails,
        "password": hashes,
        "tags_add": some_tags,
        "tags_remove": some_tags,
        "disabled": st.booleans(),
    },
)


def without_time(account: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in account.items() if name != "updated_at"}


class Calls(RuleBasedStateMachine):
    """Each rule makes a call, asks the model, and compares."""

    service: Service
    ids: Bundle[str] = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        empty(self.service)
        self.model = Model()
        self.copies = [CopyBySince(self.service), CopyBySince(self.service, FOLLOWED)]

    @rule(target=ids, body=creations)
    def create(self, body: dict[str, Any]) -> str:
        before = counter(self.service.app)
        answer, expected = self.service.create(**body), self.model.create(body)
        self.compare(answer, expected, before)
        if expected.status == 400:
            return "nobody"
        assert answer.json["existed"] is (expected.status == 200)
        id = str(answer.json["id"])
        assert id == (expected.id or id)
        if expected.status == 201:
            self.model.created(id, body)
        assert without_time(answer.json["account"]) == self.model.people[id].shown(id)
        return id

    @rule(id=ids, body=changes)
    def change(self, id: str, body: dict[str, Any]) -> None:
        before = counter(self.service.app)
        answer, expected = self.service.change(id, **body), self.model.change(id, body)
        self.compare(answer, expected, before)
        if expected.status == 200:
            assert without_time(answer.json) == self.model.people[id].shown(id)

    def compare(self, answer: Any, expected: Expected, before: int) -> None:
        assert answer.status_code == expected.status, answer.text
        if expected.wrong:
            field = re.sub(r"\[\d+\]", "[]", refusal(answer).partition(":")[0])
            assert field in expected.wrong
        if expected.status >= 400:
            assert counter(self.service.app) == before

    @rule(id=ids, administrator=st.booleans())
    def promote(self, id: str, administrator: bool) -> None:
        if id in self.model.people:
            with self.directory() as directory:
                directory.change(id, Change(administrator=administrator), actor=COMMAND)
            self.model.people[id].administrator = administrator

    @rule(id=ids, disabled=st.booleans())
    def switch(self, id: str, disabled: bool) -> None:
        if id in self.model.people:
            with self.directory() as directory:
                directory.change(id, Change(disabled=disabled), actor=COMMAND)
            self.model.people[id].disabled_by = "administrator" if disabled else None

    @rule(id=ids)
    def erase(self, id: str) -> None:
        if id in self.model.people:
            with self.directory() as directory:
                directory.erase(id, actor=COMMAND)
            del self.model.people[id]
            self.model.erased.add(id)

    @contextmanager
    def directory(self) -> Iterator[Any]:
        """The directory as a command has it."""
        with self.service.app.app_context():
            yield identity.directory
            db.session.commit()

    @rule(which=st.integers(0, 1))
    def follow(self, which: int) -> None:
        """One reader comes seldom, so that much has happened; and is up to date then."""
        copy = self.copies[which]
        copy.follow()
        shown = [without_time(copy.accounts[id]) for id in sorted(copy.accounts)]
        assert shown == self.model.shown(copy.tag)

    @invariant()
    def the_list_is_the_models(self) -> None:
        whole = self.service.whole()["accounts"]
        shown = sorted((without_time(account) for account in whole), key=lambda one: str(one["id"]))
        assert shown == self.model.shown()


def empty(service: Service) -> None:
    """Begin with nobody."""
    with service.app.app_context():
        for table in ("idsync_account", "person", "idsync_erased_account", "idsync_directory"):
            db.session.execute(text(f"DELETE FROM {table}"))  # noqa: S608 - four names of ours
        db.session.commit()


def run_sequences(service: Service, *, number: int, steps: int) -> None:
    machine = type("CallsOfThisService", (Calls,), {"service": service})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=number,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # to shrink a failure would take minutes
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_sequences_of_calls_leave_what_the_model_says(service: Service) -> None:
    """Unique e-mail, tags, `existed`, roles, administrators protected, all or nothing."""
    run_sequences(service, number=10, steps=25)


@pytest.mark.proof
def test_many_long_sequences_leave_what_the_model_says(service: Service) -> None:
    """The same for minutes."""
    run_sequences(service, number=100, steps=60)

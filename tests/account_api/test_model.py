"""Any sequence of calls and commands leaves what a simple model says, in lists and in copies."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
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
COMMANDS = {
    "promote": Change(administrator=True),
    "demote": Change(administrator=False),
    "disable": Change(disabled=True),
    "enable": Change(disabled=False),
}

# Few of each, so that they meet; and one in several that is wrong, so that most calls get far.
names = st.sampled_from(["Ada", "Bob", "Ада", "日本"] * 3 + [" "])
emails = st.sampled_from(
    ["ada@example.org", "ADA@example.org", "bob@example.org", "Bob@example.org", None] * 2
    + ["nobody"]
)
hashes = st.sampled_from(HASHES * 3 + ["correct horse"])
some_tags = st.lists(st.sampled_from(TAGS * 4 + [""]), max_size=3)
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
        self.always = CopyBySince(self.service)
        self.seldom = CopyBySince(self.service, FOLLOWED)

    @initialize(target=ids)
    def begin(self) -> Any:
        """An administrator and somebody else, both with all there is, and somebody erased."""
        for id, email in (("a1", "ada@example.org"), ("b2", "Bob@example.org"), ("c3", None)):
            body = {"id": id, "name": id, "email": email, "password": HASHES[0], "tags": TAGS[:3]}
            assert self.created(body) == id
        self.run("a1", "promote")
        self.run("c3", "erase")
        return multiple("a1", "b2", "c3")

    @rule(target=ids, body=creations)
    def create(self, body: dict[str, Any]) -> Any:
        id = self.created(body)
        return multiple() if id is None else id

    def created(self, body: dict[str, Any]) -> str | None:
        """The id of whom the call made or found; None where it was refused."""
        before = counter(self.service.app)
        answer, expected = self.service.create(**body), self.model.create(body)
        self.compare(answer, expected, before)
        if expected.status == 400:
            return None
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

    @rule(id=ids, name=st.sampled_from([*COMMANDS, "erase"]))
    def command(self, id: str, name: str) -> None:
        if id in self.model.people:
            self.run(id, name)

    def run(self, id: str, name: str) -> None:
        with self.service.app.app_context():
            if name == "erase":
                identity.directory.erase(id, actor=COMMAND)
            else:
                identity.directory.change(id, COMMANDS[name], actor=COMMAND)
            db.session.commit()
        self.model.command(id, name)

    @rule()
    def follow_after_many_changes(self) -> None:
        self.follow(self.seldom)

    @invariant()
    def follow_after_each_change(self) -> None:
        self.follow(self.always)
        assert self.always.differences() == []  # from the whole list

    def follow(self, copy: CopyBySince) -> None:
        copy.follow()
        shown = [without_time(copy.accounts[id]) for id in sorted(copy.accounts)]
        assert shown == self.model.shown(copy.tag)


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
    run_sequences(service, number=15, steps=25)


@pytest.mark.proof
def test_many_long_sequences_leave_what_the_model_says(service: Service) -> None:
    """The same for minutes."""
    run_sequences(service, number=100, steps=60)

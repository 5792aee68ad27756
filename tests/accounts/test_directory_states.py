"""The directory against a simple model of it: any sequence of calls, committed or taken back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import text

from accounts.directory_model import SERVICE, Model, Person, ends_sessions
from host_app.models import User, db, identity
from idsync.accounts.change import Change
from idsync.accounts.rules import email_key
from idsync.audit.events import COMMAND, Actor
from idsync.crypto.exchange import ExchangeHash
from idsync.errors import InvalidValue
from idsync.extension import EXTENSION
from listed import changes_since

TAGS = ("wiki", "mail", "ученик")
HASHES = [str(ExchangeHash.create(word, iterations=10_000)) for word in ("one", "two")]

names = st.sampled_from(["Ada", "Eve", "Ада", "Ada Lovelace", "Eve", "Ada", " ", "\0"])
emails = st.sampled_from([None, "a@example.org", "A@Example.org", "b@example.org", "ß@example.org"])
phones = st.sampled_from([None, "+4930123456", "+49 30 123456", "+4930123457"])
ids = st.sampled_from([None, "one", "two", "three"])
some_tags = st.sets(st.sampled_from(TAGS))
verifiers = st.sampled_from([None, *HASHES])
anybody = st.integers(0, 9)

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": names,
    "email": emails,
    "verifier": verifiers,
    "tags_add": some_tags,
    "tags_remove": some_tags,
    "disabled": st.booleans(),
}
# What services cannot send.
COMMAND_FIELDS = {
    **FIELDS,
    "phone": phones,
    "administrator": st.booleans(),
    "password": st.just("correct horse"),
}


def changes(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """One field of a Change, or several."""
    one = st.one_of(*(st.fixed_dictionaries({name: values}) for name, values in fields.items()))
    several = st.fixed_dictionaries({}, optional=fields)
    return (one | several).filter(lambda wanted: not {"verifier", "password"} <= wanted.keys())


class DirectoryMachine(RuleBasedStateMachine):
    """Calls the directory and the model alike; every rule is one transaction."""

    app: Flask

    def __init__(self) -> None:
        super().__init__()
        self.context = self.app.app_context()
        self.context.push()
        self.parts = self.app.extensions[EXTENSION]
        self.directory = identity.directory
        for table in ("idsync_event", "idsync_account", "person", "idsync_erased_account"):
            db.session.execute(text(f"DELETE FROM {table}"))  # noqa: S608
        self.directory.add(actor=COMMAND, name="The first", subject="first")
        db.session.commit()
        self.revision = self.parts.revisions.current(db.session)[1]
        self.model = Model({"first": Person("The first")})
        self.copies: dict[str | None, tuple[int, dict[str, Any]]] = {
            None: (0, {}),
            "wiki": (0, {}),
        }

    def teardown(self) -> None:
        db.session.rollback()
        self.context.pop()

    # --- making --------------------------------------------------------------------------------

    @rule(
        name=names,
        email=emails,
        subject=ids,
        phone=phones,
        tags=some_tags,
        verifier=verifiers,
        administrator=st.booleans(),
    )
    def add(self, **values: Any) -> None:
        wrong = self.model.wrong_in_new(values["name"], values["email"], values["subject"])
        wrong |= self.model.wrong_phone(values["phone"], None)
        with self._transaction(wrong):
            subject = self.directory.add(actor=COMMAND, **values).subject
            self.model.people[subject] = self.model.new(values)

    @rule(name=names, email=emails, verifier=verifiers, tags=some_tags, subject=ids)
    def create_or_attach(self, **values: Any) -> None:
        existing = self.model.holder(values["email"])
        wrong = {"name"} if values["name"] in (" ", "\0") else set()
        if existing is None:
            wrong = self.model.wrong_in_new(values["name"], values["email"], values["subject"])
        with self._transaction(wrong):
            record, existed = self.directory.create_or_attach(actor=SERVICE, **values)
            assert existed == (existing is not None)
            if existing is None:
                self.model.people[record.subject] = self.model.new(values)
            else:
                assert record.subject == existing
                self.model.people[existing].tags |= values["tags"]

    @rule(name=names.filter(str.isprintable), email=emails)
    def host_makes(self, name: str, email: str | None) -> None:
        wrong = {"email"} if self.model.holder(email) is not None else set()
        with self._transaction(wrong):
            user = User(name=name, email=email)
            db.session.add(user)
            db.session.flush()
            record = self.directory.record_of(user)
            assert record is not None
            self.model.people[record.subject] = Person(name, email)

    # --- changing ------------------------------------------------------------------------------

    @rule(who=anybody, wanted=changes(COMMAND_FIELDS))
    def change(self, who: int, wanted: dict[str, Any]) -> None:
        self._change(self._subject(who), wanted, COMMAND)

    @rule(who=anybody, wanted=changes(FIELDS))
    def change_by_service(self, who: int, wanted: dict[str, Any]) -> None:
        self._change(self._subject(who), wanted, SERVICE)

    @rule(who=anybody, name=names.filter(str.isprintable), email=emails)
    def host_changes(self, who: int, name: str, email: str | None) -> None:
        subject = self._subject(who)
        wrong = {"email"} if self.model.holder(email) not in (None, subject) else set()
        with self._transaction(wrong):
            user = self.directory.record(subject).user
            user.name, user.email = name, email
            self.model.people[subject].name, self.model.people[subject].email = name, email

    @rule(who=anybody, other=anybody, tag=st.sampled_from(TAGS))
    def change_two_at_once(self, who: int, other: int, tag: str) -> None:
        """And touch one of them: one transaction, one revision."""
        with self._transaction(set()):
            for subject in sorted({self._subject(who), self._subject(other)}):
                self.directory.change(subject, Change(tags_add=(tag,)), actor=COMMAND)
                self.model.people[subject].tags.add(tag)

    @rule(who=anybody, name=st.sampled_from(["Kept", "Ada"]), other=anybody)
    def change_and_take_part_back(self, who: int, name: str, other: int) -> None:
        """A savepoint that is rolled back, between two that are not."""
        kept = self._subject(who)
        with self._transaction(set()):
            with db.session.begin_nested():
                self.directory.change(kept, Change(name=name), actor=COMMAND)
            savepoint = db.session.begin_nested()
            self.directory.change(
                self._subject(other), Change(name="Never", disabled=True), actor=COMMAND
            )
            savepoint.rollback()
            self.model.people[kept].name = name

    @rule(who=anybody, erasing=st.booleans())
    def take_all_back(self, who: int, erasing: bool) -> None:
        if erasing:
            self.directory.erase(self._subject(who), actor=COMMAND)
        else:
            self.directory.change(self._subject(who), Change(name="Never"), actor=COMMAND)
        db.session.rollback()

    @rule(who=anybody)
    def sign_out(self, who: int) -> None:
        with self._transaction(set(), ends={self._subject(who)}):
            self.directory.sign_out_everywhere(self._subject(who), actor=COMMAND)

    # --- erasing -------------------------------------------------------------------------------

    @rule(who=anybody, by_host=st.booleans())
    @precondition(lambda self: len(self.model.people) > 3)
    def erase(self, who: int, by_host: bool) -> None:
        subject = self._subject(who)
        with self._transaction(set()):
            if by_host:
                db.session.delete(self.directory.record(subject).user)
            else:
                self.directory.erase(subject, actor=COMMAND)
            del self.model.people[subject]
            self.model.gone.add(subject)

    # --- reading -------------------------------------------------------------------------------

    @rule(tag=st.sampled_from([None, "wiki"]))
    def follow(self, tag: str | None) -> None:
        """A consuming service's copy, kept by what changed since it looked last."""
        revision, copy = self.copies[tag]
        changed = changes_since(self.parts.listing, revision, tag)
        for account in changed.accounts:
            copy[account.subject] = self._seen(account)
        for subject in changed.removed:
            copy.pop(subject, None)
        self.copies[tag] = (changed.revision, copy)
        assert copy == self.model.expected(tag)

    @rule(tag=st.sampled_from([None, *TAGS, "never given"]))
    def read_all(self, tag: str | None) -> None:
        whole = changes_since(self.parts.listing, 0, tag)
        assert {one.subject: self._seen(one) for one in whole.accounts} == self.model.expected(tag)
        assert whole.removed == []

    @invariant()
    def is_the_model(self) -> None:
        """Account by account, and the counter moved for what services see, and only then."""
        found = {
            account.subject: (
                account.name,
                account.email,
                sorted(account.tags),
                account.disabled,
                account.administrator,
            )
            for account in self.directory.accounts()
        }
        assert found == self.model.expected(None)
        assert self.parts.revisions.current(db.session)[1] == self.revision
        for subject, person in self.model.people.items():
            record = self.directory.record(subject)
            assert record.email_key == (person.email and email_key(person.email))
            assert record.phone == person.phone
            verifier = self.parts.passwords.verifier(record)
            assert verifier == person.password or isinstance(person.password, int)
        db.session.rollback()

    # --- how a transaction goes ----------------------------------------------------------------

    @contextmanager
    def _transaction(self, wrong: set[str], ends: set[str] = frozenset()) -> Iterator[None]:
        """Commit; or, where a field is wrong, see it refused and nothing changed."""
        before, gone = deepcopy(self.model.people), set(self.model.gone)
        epochs = self._epochs()
        try:
            yield
            db.session.commit()
        except InvalidValue as refused:
            assert refused.field in wrong, refused  # noqa: PT017
            db.session.rollback()
            self.model.people, self.model.gone = before, gone
        else:
            assert not wrong, wrong
        if self.model.exported(before) != self.model.exported(self.model.people):
            self.revision += 1
        ended = {
            subject
            for subject, epoch in self._epochs().items()
            if subject in before and epochs[subject] != epoch
        }
        assert ended == set(ends) | {
            subject
            for subject, person in self.model.people.items()
            if subject in before and ends_sessions(before[subject], person)
        }

    def _change(self, subject: str, wanted: dict[str, Any], actor: Actor) -> None:
        person = self.model.people[subject]
        wrong = self.model.wrong_in_change(subject, person, wanted, actor)
        change = Change(
            **{
                name: tuple(value) if name.startswith("tags") else value
                for name, value in wanted.items()
            }
        )
        with self._transaction(wrong):
            self.directory.change(subject, change, actor=actor)
            self.model.apply(person, wanted, actor)

    # --- looking -------------------------------------------------------------------------------

    def _subject(self, number: int) -> str:
        """By age and not by id: ids are random, and hypothesis must be able to repeat a run."""
        return list(self.model.people)[number % len(self.model.people)]

    def _seen(self, account: Any) -> tuple[Any, ...]:
        return (
            account.name,
            account.email,
            account.tags,
            account.disabled,
            account.administrator,
        )

    def _epochs(self) -> dict[str, bytes]:
        rows = db.session.execute(text("SELECT subject, epoch FROM idsync_account")).all()
        db.session.rollback()
        return {subject: bytes(epoch) for subject, epoch in rows}


def run(app: Flask, examples: int, steps: int) -> None:
    machine: Callable[[], RuleBasedStateMachine] = type(
        "Machine", (DirectoryMachine,), {"app": app}
    )
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def test_any_sequence_of_calls_is_what_the_model_says(app: Flask) -> None:
    """State, refusals, the counter, whose sessions end, and two followers' copies."""
    run(app, examples=15, steps=20)


@pytest.mark.proof
def test_any_sequence_of_calls_is_what_the_model_says_500_times(app: Flask) -> None:
    """The same with longer sequences."""
    run(app, examples=500, steps=50)

"""The directory against a simple model of it: any sequence of calls, committed or taken back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
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

from host_app.models import User, db, identity
from idsync.accounts.change import UNSET, Change
from idsync.accounts.rules import checked_email, email_key
from idsync.audit.events import COMMAND, Actor
from idsync.crypto.exchange import ExchangeHash
from idsync.errors import InvalidValue
from idsync.extension import EXTENSION

SERVICE = Actor("service", "app_wiki")
TAGS = ("wiki", "mail", "ученик")
HASHES = [str(ExchangeHash.create(word, iterations=10_000)) for word in ("one", "two")]

names = st.sampled_from(["Ada", "Eve", "Ада", "Ada Lovelace", "Eve", "Ada", " ", "\0"])
emails = st.sampled_from([None, "a@example.org", "A@Example.org", "b@example.org", "ß@example.org"])
phones = st.sampled_from([None, "+4930123456", "+49 30 123456", "+4930123457"])
ids = st.sampled_from([None, "one", "two", "three"])
some_tags = st.sets(st.sampled_from(TAGS))
verifiers = st.sampled_from([None, *HASHES])
anybody = st.integers(0, 9)


@dataclass
class Person:
    """What the model knows of an account. A password is an exchange hash, or a count of changes."""

    name: str
    email: str | None = None
    phone: str | None = None
    tags: set[str] = field(default_factory=set)
    disabled_by: str | None = None
    administrator: bool = False
    password: str | int | None = None

    @property
    def exported(self) -> tuple[Any, ...]:
        """What consuming services see."""
        return (
            self.name,
            self.email,
            sorted(self.tags),
            self.disabled_by,
            self.administrator,
            self.password,
        )

    @property
    def listed(self) -> tuple[Any, ...]:
        return (*self.exported[:3], self.disabled_by is not None, self.administrator)


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
        self.people: dict[str, Person] = {"first": Person("The first")}
        self.gone: set[str] = set()
        self.copies: dict[str | None, tuple[int, dict[str, Any]]] = {
            None: (0, {}),
            "wiki": (0, {}),
        }
        self.count = 0

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
        wrong = self._wrong_in_new(values["name"], values["email"], values["subject"])
        wrong |= self._wrong_phone(values["phone"], None)
        with self._transaction(wrong):
            subject = self.directory.add(actor=COMMAND, **values).subject
            self.people[subject] = self._new(values)

    @rule(name=names, email=emails, verifier=verifiers, tags=some_tags, subject=ids)
    def create_or_attach(self, **values: Any) -> None:
        existing = self._holder(values["email"])
        wrong = {"name"} if values["name"] in (" ", "\0") else set()
        if existing is None:
            wrong = self._wrong_in_new(values["name"], values["email"], values["subject"])
        with self._transaction(wrong):
            record, existed = self.directory.create_or_attach(actor=SERVICE, **values)
            assert existed == (existing is not None)
            if existing is None:
                self.people[record.subject] = self._new(values)
            else:
                assert record.subject == existing
                self.people[existing].tags |= values["tags"]

    @rule(name=names.filter(str.isprintable), email=emails)
    def host_makes(self, name: str, email: str | None) -> None:
        wrong = {"email"} if self._holder(email) is not None else set()
        with self._transaction(wrong):
            user = User(name=name, email=email)
            db.session.add(user)
            db.session.flush()
            record = self.directory.record_of(user)
            assert record is not None
            self.people[record.subject] = Person(name, email)

    # --- changing ------------------------------------------------------------------------------

    @rule(who=anybody, wanted=changes(COMMAND_FIELDS))
    @precondition(lambda self: self.people)
    def change(self, who: int, wanted: dict[str, Any]) -> None:
        self._change(self._subject(who), wanted, COMMAND)

    @rule(who=anybody, wanted=changes(FIELDS))
    @precondition(lambda self: self.people)
    def change_by_service(self, who: int, wanted: dict[str, Any]) -> None:
        self._change(self._subject(who), wanted, SERVICE)

    @rule(who=anybody, name=names.filter(str.isprintable), email=emails)
    @precondition(lambda self: self.people)
    def host_changes(self, who: int, name: str, email: str | None) -> None:
        subject = self._subject(who)
        wrong = {"email"} if self._holder(email) not in (None, subject) else set()
        with self._transaction(wrong):
            user = self.directory.record(subject).user
            user.name, user.email = name, email
            self.people[subject].name, self.people[subject].email = name, email

    @rule(who=anybody, other=anybody, tag=st.sampled_from(TAGS))
    @precondition(lambda self: self.people)
    def change_two_at_once(self, who: int, other: int, tag: str) -> None:
        """And touch one of them: one transaction, one revision."""
        with self._transaction(set()):
            for subject in sorted({self._subject(who), self._subject(other)}):
                self.directory.change(subject, Change(tags_add=(tag,)), actor=COMMAND)
                self.people[subject].tags.add(tag)

    @rule(who=anybody, name=st.sampled_from(["Kept", "Ada"]), other=anybody)
    @precondition(lambda self: self.people)
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
            self.people[kept].name = name

    @rule(who=anybody, erasing=st.booleans())
    @precondition(lambda self: self.people)
    def take_all_back(self, who: int, erasing: bool) -> None:
        if erasing:
            self.directory.erase(self._subject(who), actor=COMMAND)
        else:
            self.directory.change(self._subject(who), Change(name="Never"), actor=COMMAND)
        db.session.rollback()

    @rule(who=anybody)
    @precondition(lambda self: self.people)
    def sign_out(self, who: int) -> None:
        with self._transaction(set(), ends={self._subject(who)}):
            self.directory.sign_out_everywhere(self._subject(who), actor=COMMAND)

    # --- erasing -------------------------------------------------------------------------------

    @rule(who=anybody, by_host=st.booleans())
    @precondition(lambda self: len(self.people) > 3)
    def erase(self, who: int, by_host: bool) -> None:
        subject = self._subject(who)
        with self._transaction(set()):
            if by_host:
                db.session.delete(self.directory.record(subject).user)
            else:
                self.directory.erase(subject, actor=COMMAND)
            del self.people[subject]
            self.gone.add(subject)

    # --- reading -------------------------------------------------------------------------------

    @rule(tag=st.sampled_from([None, "wiki"]))
    def follow(self, tag: str | None) -> None:
        """A consuming service's copy, kept by what changed since it looked last."""
        revision, copy = self.copies[tag]
        changed = self.parts.listing.changes_since(revision, tag)
        for account in changed.accounts:
            copy[account.subject] = self._seen(account)
        for subject in changed.removed:
            copy.pop(subject, None)
        self.copies[tag] = (changed.revision, copy)
        assert copy == self._expected(tag)

    @rule(tag=st.sampled_from([None, *TAGS, "never given"]))
    def read_all(self, tag: str | None) -> None:
        whole = self.parts.listing.changes_since(0, tag)
        assert {one.subject: self._seen(one) for one in whole.accounts} == self._expected(tag)
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
        assert found == self._expected(None)
        assert self.parts.revisions.current(db.session)[1] == self.revision
        for subject, person in self.people.items():
            if not isinstance(person.password, int):
                record = self.directory.record(subject)
                assert self.parts.passwords.verifier(record) == person.password
                assert record.email_key == (person.email and email_key(person.email))
                assert record.phone == person.phone
        db.session.rollback()

    # --- how a transaction goes ----------------------------------------------------------------

    @contextmanager
    def _transaction(self, wrong: set[str], ends: set[str] = frozenset()) -> Iterator[None]:
        """Commit; or, where a field is wrong, see it refused and nothing changed."""
        before, gone = deepcopy(self.people), set(self.gone)
        epochs = self._epochs()
        try:
            yield
            db.session.commit()
        except InvalidValue as refused:
            assert refused.field in wrong, refused  # noqa: PT017
            db.session.rollback()
            self.people, self.gone = before, gone
        else:
            assert not wrong, wrong
        if self._exported(before) != self._exported(self.people):
            self.revision += 1
        ended = {
            subject
            for subject, epoch in self._epochs().items()
            if subject in before and epochs[subject] != epoch
        }
        assert ended == set(ends) | {
            subject
            for subject, person in self.people.items()
            if subject in before and _ends_sessions(before[subject], person)
        }

    def _change(self, subject: str, wanted: dict[str, Any], actor: Actor) -> None:
        person = self.people[subject]
        wrong = self._wrong_in_change(subject, person, wanted, actor)
        change = Change(
            **{
                name: tuple(value) if name.startswith("tags") else value
                for name, value in wanted.items()
            }
        )
        with self._transaction(wrong):
            self.directory.change(subject, change, actor=actor)
            self._apply(person, wanted, actor)

    def _apply(self, person: Person, wanted: dict[str, Any], actor: Actor) -> None:
        person.name = wanted.get("name", person.name)
        if "email" in wanted and wanted["email"] != person.email:
            person.email = wanted["email"] and checked_email(wanted["email"])
        if "phone" in wanted:
            person.phone = wanted["phone"] and wanted["phone"].replace(" ", "")
        person.administrator = wanted.get("administrator", person.administrator)
        person.password = wanted.get("verifier", person.password)
        if "password" in wanted:
            self.count += 1
            person.password = self.count
        person.tags |= wanted.get("tags_add", set())
        person.tags -= wanted.get("tags_remove", set())
        disabled = wanted.get("disabled", UNSET)
        if disabled is False:
            person.disabled_by = None
        elif disabled is True and person.disabled_by != "administrator":
            person.disabled_by = "service" if actor is SERVICE else "administrator"

    # --- what is to be refused -----------------------------------------------------------------

    def _wrong_in_new(self, name: str, email: str | None, subject: str | None) -> set[str]:
        wrong = {"name"} if name in (" ", "\0") else set()
        if self._holder(email) is not None:
            wrong.add("email")
        if subject in self.people or subject in self.gone:
            wrong.add("id")
        return wrong

    def _wrong_in_change(
        self, subject: str, person: Person, wanted: dict[str, Any], actor: Actor
    ) -> set[str]:
        wrong = self._wrong_phone(wanted.get("phone"), subject)
        if wanted.get("name") in (" ", "\0"):
            wrong.add("name")
        if self._holder(wanted.get("email")) not in (None, subject):
            wrong.add("email")
        if wanted.get("tags_add", set()) & wanted.get("tags_remove", set()):
            wrong.add("tags_add")
        if actor is SERVICE and person.administrator:
            protected = {"email": "email", "verifier": "password", "disabled": "disabled"}
            wrong |= {protected[name] for name in wanted.keys() & protected.keys()}
        if (
            actor is SERVICE
            and wanted.get("disabled") is False
            and person.disabled_by == "administrator"
        ):
            wrong.add("disabled")
        return wrong

    def _wrong_phone(self, phone: str | None, own: str | None) -> set[str]:
        same = phone and phone.replace(" ", "")
        taken = any(
            person.phone == same for subject, person in self.people.items() if subject != own
        )
        return {"phone"} if phone and taken else set()

    # --- looking -------------------------------------------------------------------------------

    def _subject(self, number: int) -> str:
        return sorted(self.people)[number % len(self.people)]

    def _holder(self, email: str | None) -> str | None:
        """Who has this address, compared without case."""
        for subject, person in self.people.items():
            if email and person.email and email_key(email) == email_key(person.email):
                return subject
        return None

    def _new(self, values: dict[str, Any]) -> Person:
        email, phone = values["email"], values.get("phone")
        return Person(
            values["name"],
            email and checked_email(email),
            phone and phone.replace(" ", ""),
            set(values["tags"]),
            administrator=values.get("administrator", False),
            password=values["verifier"],
        )

    def _exported(self, people: dict[str, Person]) -> dict[str, Any]:
        return {subject: person.exported for subject, person in people.items()}

    def _expected(self, tag: str | None) -> dict[str, Any]:
        return {
            subject: person.listed
            for subject, person in self.people.items()
            if tag is None or tag in person.tags
        }

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


def _ends_sessions(before: Person, after: Person) -> bool:
    """A new password does, and being disabled."""
    newly_disabled = before.disabled_by is None and after.disabled_by is not None
    return before.password != after.password or newly_disabled


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

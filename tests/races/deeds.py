"""What racing processes do to accounts, by the directory and as a host's own code does it."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from flask import Flask
from sqlalchemy import event, text
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError

from host_app.models import User, db, identity
from idsync.accounts.change import Change
from idsync.audit.events import COMMAND, Actor
from idsync.errors import InvalidValue, UnknownRecord

SERVICE = Actor("service", "app_wiki")


# --- the host's own transactions ----------------------------------------------------------------


@dataclass(frozen=True)
class Renaming:
    """A host's transaction: a new name for the person with this key.

    touches_first: it writes another column before, as a `last_seen` is written.
    """

    key: int
    name: str
    touches_first: bool


def rename_at_once(app: Flask, renamings: list[Renaming]) -> list[tuple[int, Renaming]]:
    """Each in a thread and a transaction of its own; with the revision each transaction got."""
    start = threading.Barrier(len(renamings))

    def rename(renaming: Renaming) -> tuple[int, Renaming]:
        with app.app_context():
            user = db.session.get(User, renaming.key)
            assert user is not None
            start.wait()
            if renaming.touches_first:
                user.created_at += timedelta(seconds=1)
                db.session.flush()
                time.sleep(0.005)  # time for others to come in between
            user.name = renaming.name
            event.listen(db.session(), "before_commit", _keep_revision)
            db.session.commit()
            return db.session.info["revision"], renaming

    with ThreadPoolExecutor(len(renamings)) as threads:
        return list(threads.map(rename, renamings))


def _keep_revision(session: Session) -> None:
    """After the library's own listener: the counter, locked by this transaction, is at ours."""
    session.info["revision"] = session.scalar(text("SELECT revision FROM idsync_directory"))


# --- two at once, round after round ---------------------------------------------------------------


def create_or_attach(app: Flask, email: str, tag: str) -> tuple[str, bool]:
    """The account's id, and whether it existed."""
    record, existed = identity.directory.create_or_attach(
        actor=SERVICE, name=f"By {tag}", email=email, verifier=None, tags=[tag]
    )
    db.session.commit()
    return record.subject, existed


def change(app: Flask, subject: str, wanted: Change) -> str:
    """What became of it: `done`, or the field that was refused."""
    try:
        identity.directory.change(subject, wanted, actor=COMMAND)
        db.session.commit()
    except InvalidValue as refused:
        db.session.rollback()
        return refused.field
    return "done"


# --- anything at all ------------------------------------------------------------------------------


def wander(app: Flask, seed: int, steps: int, verifiers: dict[str, str]) -> Counter[str]:
    """Change accounts at random; how often each kind of change was done or refused.

    verifiers: exchange hashes by their passwords.
    """
    wanderer = Wanderer(Random(seed), verifiers)  # noqa: S311
    counted: Counter[str] = Counter()
    for kind in wanderer.plan(steps):
        try:
            getattr(wanderer, kind)()
            db.session.commit()
        except (InvalidValue, UnknownRecord, StaleDataError, ObjectDeletedError) as refused:
            # Somebody else took the address, or erased the account between our look and our write.
            kind = f"{kind}: {type(refused).__name__}"
            db.session.rollback()
        counted[kind] += 1
        db.session.remove()
    return counted


class Wanderer:
    """One person's or service's random changes; each method is one transaction, not committed."""

    KINDS = {  # noqa: RUF012
        "change_name": 4,
        "change_tags": 6,
        "change_password": 2,
        "change_email": 3,
        "switch": 3,
        "create": 4,
        "erase": 1,
        "sign_in": 3,
        "host_sets_password": 2,
        "host_renames": 3,
        "host_renames_several": 2,
        "host_makes": 1,
        "host_deletes": 1,
        "take_back": 2,
        "take_part_back": 2,
    }
    TAGS = ("wiki", "mail", "ученик", "наставник")

    def __init__(self, random: Random, verifiers: dict[str, str]) -> None:
        self._random = random
        self._verifiers = verifiers
        self._directory = identity.directory

    def plan(self, steps: int) -> list[str]:
        """Each kind once, for chance alone may leave the rare ones out; then as they come."""
        kinds = list(self.KINDS)
        others = self._random.choices(kinds, list(self.KINDS.values()), k=steps - len(kinds))
        return [*self._random.sample(kinds, len(kinds)), *others]

    def change_name(self) -> None:
        self._change(name=self._name())

    def change_tags(self) -> None:
        add, remove = self._random.sample(self.TAGS, 2)
        self._change(tags_add=(add,), tags_remove=(remove,))

    def change_password(self) -> None:
        self._change(verifier=self._verifiers[self._password()])

    def change_email(self) -> None:
        self._change(email=self._random.choice((None, self._email())))

    def switch(self) -> None:
        self._change(disabled=self._random.random() < 0.5)

    def create(self) -> None:
        self._directory.create_or_attach(
            actor=SERVICE,
            name=self._name(),
            email=self._email(),
            verifier=self._verifiers[self._password()],
            tags=self._random.sample(self.TAGS, 1),
        )

    def erase(self) -> None:
        self._directory.erase(self._anybody(), actor=COMMAND)

    def sign_in(self) -> None:
        """A weak verifier is renewed, where the password is the right one."""
        identity.check_password(self._somebody(), self._password())

    def host_sets_password(self) -> None:
        user = self._somebody()
        identity.set_password(user, self._password())
        db.session.flush()
        user.name = self._name()

    def host_renames(self) -> None:
        user = self._somebody()
        user.created_at += timedelta(seconds=1)
        db.session.flush()
        user.name = self._name()

    def host_renames_several(self) -> None:
        users = db.session.query(User).order_by(User.id).limit(50).all()
        for user in self._random.sample(users, min(3, len(users))):
            user.name = self._name()

    def host_makes(self) -> None:
        db.session.add(User(name=self._name(), email=None))

    def host_deletes(self) -> None:
        db.session.delete(self._somebody())

    def take_back(self) -> None:
        """A transaction that is rolled back."""
        self._somebody().name = "never"
        db.session.flush()
        db.session.rollback()

    def take_part_back(self) -> None:
        """A savepoint that is rolled back, in a transaction that goes on."""
        first, second = sorted((self._somebody(), self._somebody()), key=lambda user: int(user.id))
        first.name = self._name()
        savepoint = db.session.begin_nested()
        second.name = "never"
        db.session.flush()
        savepoint.rollback()

    def _change(self, **values: Any) -> None:
        self._directory.change(self._anybody(), Change(**values), actor=COMMAND)

    def _anybody(self) -> str:
        subjects = db.session.scalars(
            text("SELECT subject FROM idsync_account ORDER BY subject")
        ).all()
        return str(self._random.choice(subjects or ("nobody",)))

    def _somebody(self) -> User:
        record = self._directory.record_of
        user = db.session.scalars(
            db.select(User).order_by(User.id).offset(self._random.randrange(20)).limit(1)
        ).first()
        if user is None or record(user) is None:
            raise UnknownRecord("There are not so many people.")
        return user

    def _password(self) -> str:
        return self._random.choice(list(self._verifiers))

    def _name(self) -> str:
        return f"Name {self._random.getrandbits(40)}"

    def _email(self) -> str:
        """One of few, so that several want the same."""
        return f"Person{self._random.randrange(30)}@example.org"


# --- a worker beside `keys reseal` --------------------------------------------------------------


def be_ready(app: Flask) -> None:
    """Nothing: a crew that has done it has started."""


def work_on(app: Flask, own: list[int], everybody: list[int], steps: int) -> dict[int, str]:
    """Give own people new passwords and change names of several at once, people of others too.

    Returns everyone's last password, by key.
    """
    random = Random(own[0])  # noqa: S311
    passwords: dict[int, str] = {}
    for step in range(steps):
        key = random.choice(own)
        user = db.session.get(User, key)
        assert user is not None
        identity.set_password(user, f"password {step} of {key}")
        db.session.commit()
        passwords[key] = f"password {step} of {key}"
        several = random.sample(everybody, 5)
        for user in db.session.scalars(
            db.select(User).where(User.id.in_(several)).order_by(User.id)
        ).all():
            user.name = f"Name {random.getrandbits(40)}"
        db.session.commit()
        db.session.remove()
    return passwords

"""What the directory must say and refuse, as a model that can be read like the rules.

No database. Texts are checked and compared by the directory's own rules.
"""

from dataclasses import dataclass, field
from typing import Any

from idsync.accounts.change import UNSET
from idsync.accounts.rules import checked_email, email_key
from idsync.audit.events import Actor

SERVICE = Actor("service", "app_wiki")


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


class Model:
    """Everybody, and the ids of those who were erased."""

    def __init__(self, people: dict[str, Person]) -> None:
        self.people = people
        self.gone: set[str] = set()
        self._passwords = 0

    def apply(self, person: Person, wanted: dict[str, Any], actor: Actor) -> None:
        person.name = wanted.get("name", person.name)
        if "email" in wanted and wanted["email"] != person.email:
            person.email = wanted["email"] and checked_email(wanted["email"])
        if "phone" in wanted:
            person.phone = wanted["phone"] and wanted["phone"].replace(" ", "")
        person.administrator = wanted.get("administrator", person.administrator)
        person.password = wanted.get("verifier", person.password)
        if "password" in wanted:
            self._passwords += 1
            person.password = self._passwords
        person.tags |= wanted.get("tags_add", set())
        person.tags -= wanted.get("tags_remove", set())
        disabled = wanted.get("disabled", UNSET)
        if disabled is False:
            person.disabled_by = None
        elif disabled is True and person.disabled_by != "administrator":
            person.disabled_by = "service" if actor is SERVICE else "administrator"

    def wrong_in_new(self, name: str, email: str | None, subject: str | None) -> set[str]:
        wrong = {"name"} if name in (" ", "\0") else set()
        if self.holder(email) is not None:
            wrong.add("email")
        if subject in self.people or subject in self.gone:
            wrong.add("id")
        return wrong

    def wrong_in_change(
        self, subject: str, person: Person, wanted: dict[str, Any], actor: Actor
    ) -> set[str]:
        wrong = self.wrong_phone(wanted.get("phone"), subject)
        if wanted.get("name") in (" ", "\0"):
            wrong.add("name")
        if self.holder(wanted.get("email")) not in (None, subject):
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

    def wrong_phone(self, phone: str | None, own: str | None) -> set[str]:
        same = phone and phone.replace(" ", "")
        taken = any(
            person.phone == same for subject, person in self.people.items() if subject != own
        )
        return {"phone"} if phone and taken else set()

    def holder(self, email: str | None) -> str | None:
        """Who has this address, compared without case."""
        for subject, person in self.people.items():
            if email and person.email and email_key(email) == email_key(person.email):
                return subject
        return None

    def new(self, values: dict[str, Any]) -> Person:
        email, phone = values["email"], values.get("phone")
        return Person(
            values["name"],
            email and checked_email(email),
            phone and phone.replace(" ", ""),
            set(values["tags"]),
            administrator=values.get("administrator", False),
            password=values["verifier"],
        )

    def exported(self, people: dict[str, Person]) -> dict[str, Any]:
        return {subject: person.exported for subject, person in people.items()}

    def expected(self, tag: str | None) -> dict[str, Any]:
        return {
            subject: person.listed
            for subject, person in self.people.items()
            if tag is None or tag in person.tags
        }


def ends_sessions(before: Person, after: Person) -> bool:
    """A new password does, and being disabled."""
    newly_disabled = before.disabled_by is None and after.disabled_by is not None
    return before.password != after.password or newly_disabled

"""The account API as a few lines of Python: what each call must answer and leave behind.

A person is who the contract says they are; nothing here knows tables, revisions or transactions.
"""

import re
from dataclasses import dataclass, field
from typing import Any

ROLES = {"администратор": "admin", "наставник": "teacher", "ученик": "student"}
OUT_OF_REACH = ("email", "password", "disabled")


@dataclass
class Person:
    name: str
    email: str | None = None
    password: str | None = None
    tags: set[str] = field(default_factory=set)
    disabled_by: str | None = None
    administrator: bool = False

    def shown(self, id: str) -> dict[str, Any]:
        """As a list has it, without the time."""
        return {
            "id": id,
            "name": self.name,
            "email": self.email,
            "tags": sorted(self.tags),
            "roles": sorted(ROLES[tag] for tag in self.tags if tag in ROLES),
            "disabled": self.disabled_by is not None,
            "mfa": False,
            "password": None if self.administrator else self.password,
        }


@dataclass(frozen=True)
class Expected:
    """The status, the account concerned, and the fields one of which a refusal must name."""

    status: int
    id: str | None = None
    wrong: frozenset[str] = frozenset()


def refused(*fields: str) -> Expected:
    return Expected(400, wrong=frozenset(fields))


class Model:
    def __init__(self) -> None:
        self.people: dict[str, Person] = {}
        self.erased: set[str] = set()

    def shown(self, tag: str | None = None) -> list[dict[str, Any]]:
        """The list, by id."""
        return [
            self.people[id].shown(id)
            for id in sorted(self.people)
            if tag is None or tag in self.people[id].tags
        ]

    def create(self, body: dict[str, Any]) -> Expected:
        wrong = wrong_fields(body)
        if wrong - {"email"}:
            return refused(*wrong)
        existing = self._by_email(body.get("email"))
        if existing is not None:
            self.people[existing].tags |= set(body.get("tags", ()))
            return Expected(200, existing)
        if "id" in body and (body["id"] in self.people or body["id"] in self.erased):
            wrong.add("id")
        if wrong:
            return refused(*wrong)
        return Expected(201, body.get("id"))

    def created(self, id: str, body: dict[str, Any]) -> None:
        """Somebody new got this id."""
        tags = set(body.get("tags", ()))
        self.people[id] = Person(body["name"], body.get("email"), body.get("password"), tags)

    def change(self, id: str, body: dict[str, Any]) -> Expected:
        wrong = wrong_fields(body)
        if wrong & {"tags_add[]", "tags_remove[]"}:
            return refused(*wrong)
        if id not in self.people:
            return Expected(404)
        person = self.people[id]
        if person.administrator:
            wrong |= {name for name in OUT_OF_REACH if name in body}
        if person.disabled_by == "administrator" and body.get("disabled") is False:
            wrong.add("disabled")
        if self._by_email(body.get("email")) not in (None, id):
            wrong.add("email")
        if wrong:
            return refused(*wrong)
        person.name = body.get("name", person.name)
        person.email = body.get("email", person.email)
        person.password = body.get("password", person.password)
        person.tags |= set(body.get("tags_add", ()))
        person.tags -= set(body.get("tags_remove", ()))
        if body.get("disabled") and person.disabled_by is None:
            person.disabled_by = "service"
        if body.get("disabled") is False:
            person.disabled_by = None
        return Expected(200, id)

    def command(self, id: str, name: str) -> None:
        """What an administrator does."""
        person = self.people[id]
        if name == "erase":
            del self.people[id]
            self.erased.add(id)
        elif name in ("promote", "demote"):
            person.administrator = name == "promote"
        else:
            person.disabled_by = "administrator" if name == "disable" else None

    def _by_email(self, email: str | None) -> str | None:
        for id, person in self.people.items():
            if email and person.email and email.lower() == person.email.lower():
                return id
        return None


def wrong_fields(body: dict[str, Any]) -> set[str]:
    """The fields of a request that are refused whatever the directory holds."""
    wrong = set()
    if not body.get("name", "x").strip():
        wrong.add("name")
    if body.get("email") is not None and "@" not in body["email"]:
        wrong.add("email")
    if body.get("password") is not None and not body["password"].startswith("pbkdf2$"):
        wrong.add("password")
    if not re.fullmatch(r"[a-z0-9]+", body.get("id", "x")):
        wrong.add("id")
    for name in ("tags", "tags_add", "tags_remove"):
        if "" in body.get(name, ()):
            wrong.add(f"{name}[]")  # seen in the body alone, before anybody is looked for
    if set(body.get("tags_add", ())) & set(body.get("tags_remove", ())):
        wrong.add("tags_add")
    return wrong

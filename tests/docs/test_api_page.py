"""What can be imported is on the page docs/api.md, has types, and says what it does."""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import idsync
import idsync.consumer
from idsync import signals

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs/api.md").read_text(encoding="utf-8")
PROVIDER, _, CONSUMER = PAGE.partition(".. currentmodule:: idsync.consumer")
OUTSIDE = "".join(
    file.read_text("utf-8")
    for folder in ("tests", "host_app", "docs")
    for file in (REPOSITORY / folder).rglob("*.[ph][yt]*")
)
DIRECTIVES = re.compile(r"^\.\. auto(?!module)\w+:: ([\w.]+)$", re.MULTILINE)


def described(text: str, module: str) -> set[str]:
    """Names that a part of the page describes as belonging to this module."""
    names = {name if "." in name else f"{module}.{name}" for name in DIRECTIVES.findall(text)}
    return {name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == module}


def faces() -> Iterator[Any]:
    """The two public modules, and every object the page says is reached through them."""
    for name in DIRECTIVES.findall(PROVIDER):
        module, _, attribute = name.rpartition(".")
        yield pytest.param(getattr(import_module(module or "idsync"), attribute), id=attribute)
    for name in DIRECTIVES.findall(CONSUMER):
        module, _, attribute = name.rpartition(".")
        found = getattr(import_module(module or "idsync.consumer"), attribute)
        yield pytest.param(found, id=f"consumer {attribute}")


def described_members(face: Any) -> set[str]:
    """What the page describes of a class: the members it lists, or all that are public."""
    name = getattr(face, "__name__", "")
    options = re.search(
        rf"^\.\. autoclass:: (?:[\w.]+\.)?{name}\n((?:   :.+\n)*)", PAGE, re.MULTILINE
    )
    listed = re.search(r":members:(.*)", options[1]) if options else None
    if listed is None:
        return set()
    names = {one.strip() for one in listed[1].split(",") if one.strip()}
    return names or {*public_members(face)}


def public_members(face: type) -> dict[str, Any]:
    """Methods and properties that no underscore hides, those inherited from us included."""
    return {
        name: member
        for one in face.__mro__
        if one.__module__.startswith("idsync")
        for name, member in vars(one).items()
        if not name.startswith("_")
        and isinstance(member, (property, classmethod, staticmethod, type(public_members)))
    }


def test_the_page_describes_what_idsync_exports_and_nothing_else() -> None:
    """So nothing becomes public by accident, and nothing public is without a description."""
    assert described(PROVIDER, "idsync") == {*idsync.__all__}
    assert described(CONSUMER, "idsync.consumer") == {*idsync.consumer.__all__}


@pytest.mark.parametrize("face", [*faces()])
def test_every_public_name_says_what_it_does_and_has_types(face: Any) -> None:
    """A docstring of its own on every class, method and property, and a type on every value."""
    if isinstance(face, int):
        return  # the page has its description, and Sphinx its type
    assert (face.__doc__ or "").strip(), face
    assert not (face.__doc__ or "").startswith(f"{face.__name__}("), "made by dataclasses"
    if not isinstance(face, type):
        assert_typed(face)
        return
    for name, member in public_members(face).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        assert (function.__doc__ or "").strip(), f"{face.__name__}.{name}"
        assert_typed(function)


@pytest.mark.parametrize("face", [*faces()])
def test_what_is_described_is_used_from_outside(face: Any) -> None:
    """By a test or the reference host: who else would see it break?"""
    members = described_members(face)
    unused = {name for name in members if not re.search(rf"(\.|def ){name}\b", OUTSIDE)}
    assert unused == set()


@pytest.mark.parametrize("face", [*faces()])
def test_the_page_names_no_method_that_is_not_there(face: Any) -> None:
    """Sphinx would leave it out."""
    assert all(hasattr(face, name) for name in described_members(face))


def assert_typed(function: Any) -> None:
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    annotated = inspect.get_annotations(function)
    assert {*names, "return"} <= annotated.keys(), function


@pytest.mark.parametrize("face", [idsync.IdSync, idsync.Console])
def test_what_is_reached_through_an_object_is_on_the_page(face: type) -> None:
    """Whoever writes `identity.factors.` finds what comes after the dot."""
    described_classes = {name.rpartition(".")[2] for name in DIRECTIVES.findall(PROVIDER)}
    module = import_module(face.__module__)
    if dataclasses.is_dataclass(face):
        reached = [*get_type_hints(face).values()]
    else:
        reached = [
            getattr(module, inspect.get_annotations(member.fget)["return"])
            for member in public_members(face).values()
            if isinstance(member, property)
        ]
    ours = {one.__name__ for one in reached if one.__module__.startswith("idsync")}
    assert len(ours) > 5
    assert ours <= described_classes


def test_every_signal_says_what_it_carries() -> None:
    """The module's source has a text below each, which Sphinx takes over."""
    source = inspect.getsource(signals)
    names = [
        name for name in vars(signals) if isinstance(vars(signals)[name], type(signals.signed_in))
    ]
    assert len(names) > 5
    for name in names:
        assert re.search(rf'^{name} = .+\n"""\w', source, re.MULTILINE), name
    assert ".. automodule:: idsync.signals" in PAGE

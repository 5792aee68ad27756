"""Processes that race one another, each with the reference host on the same real database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from races.crew import Crew, crew_of


@pytest.fixture
def crew(settings: dict[str, Any], host: Any) -> Iterator[Callable[[int], Crew]]:
    """Makes crews; ends their processes."""
    with ExitStack() as crews:
        yield lambda members: crews.enter_context(crew_of(members, settings))

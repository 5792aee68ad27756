"""An application's back-channel address."""

from collections.abc import Iterator

import pytest

from receiver import Receiver, receiver


@pytest.fixture
def listener() -> Iterator[Receiver]:
    """Keeps what it is sent."""
    with receiver() as made:
        yield made

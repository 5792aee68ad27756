"""What an operator's tools ask of a running service: do the keys fit, how far has it come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idsync.assembly import Parts
    from idsync.database import DatabaseSession


class Condition:
    """Looks at the database of one application; each look is one statement."""

    def __init__(self, session: DatabaseSession, parts: Parts) -> None:
        self._session = session
        self._parts = parts

    def check_keys(self) -> None:
        """Raises ConfigurationError where the database needs a sealing key that is not there.

        Notes the newest key, the first time it is there.
        """
        self._parts.sealing_keys.check()

    def directory_revision(self) -> int:
        """How many changes of accounts there were, from the directory's beginning."""
        _, revision = self._parts.revisions.current(self._session)
        return revision

    def deliveries_outstanding(self) -> int:
        """Logout tokens that are not delivered yet and will be tried again."""
        return self._parts.deliveries.outstanding()

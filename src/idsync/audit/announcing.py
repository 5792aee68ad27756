"""Tells receivers of `signals.event_recorded` what was recorded, once it is committed."""

from __future__ import annotations

import logging
from typing import Any

from blinker import NamedSignal as Signal
from sqlalchemy import event
from sqlalchemy.orm import Session

from idsync import signals
from idsync.database import DatabaseSession
from idsync.notes import Notes

_recorded = Notes("recorded_events")

_logger = logging.getLogger(__name__)


def follow(session: DatabaseSession) -> None:
    """Listen to every session this factory makes."""
    event.listen(session, "after_commit", _announce)
    _recorded.follow(session)


def announce_after_commit(session: DatabaseSession, recorded: dict[str, Any]) -> None:
    """Note an event of the transaction at hand."""
    _recorded.add(session, recorded)


def _announce(session: Session) -> None:
    if session.in_nested_transaction():
        return  # a savepoint; the transaction around it decides
    for recorded in _recorded.take(session):
        tell(signals.event_recorded, **recorded)


def tell(signal: Signal, **what: Any) -> None:
    """Tell the receivers of a signal; what one of them raises is logged and changes nothing."""
    from flask import current_app  # here, because whoever tests grants may have no Flask

    try:
        signal.send(current_app._get_current_object(), **what)  # type: ignore[attr-defined]
    except Exception:
        _logger.exception("A receiver of %s failed.", signal.name)

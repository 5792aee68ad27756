"""How long events are kept, and that nothing else ever touches one."""

from unittest import mock

import pytest
from flask import Flask

import hosting
from host_app.models import db, identity
from idsync.audit.events import SYSTEM
from idsync.errors import ConfigurationError
from idsync.settings import Settings

DAY = 86_400
NOW = 1_800_000_000


def test_old_events_are_deleted_by_prune(database_url: str) -> None:
    """Those older than the setting says, and no other."""
    app = hosting.make_host(database_url, IDSYNC_AUDIT_DAYS=30)
    with app.app_context(), mock.patch("time.time") as clock:
        for age in (31 * DAY, 30 * DAY + 1, 30 * DAY, 1):
            clock.return_value = NOW - age
            identity.audit.record("account changed", SYSTEM, age=age)
        db.session.commit()
        clock.return_value = NOW
        assert "2 rows deleted" in hosting.run(app, "idsync", "prune")
        assert [one.details["age"] for one in identity.audit.events(kind="account changed")] == [
            1,
            30 * DAY,
        ]
    hosting.close_host(app)


def test_events_are_kept_for_a_time() -> None:
    """At least a day: without any, nothing would tell what happened."""
    assert Settings().audit_days == 400
    with pytest.raises(ConfigurationError, match="IDSYNC_AUDIT_DAYS"):
        Settings.from_config({"IDSYNC_AUDIT_DAYS": 0}, lenient=True)


def test_the_clock_of_an_event_is_the_servers(app: Flask) -> None:
    """Whole seconds, unix time."""
    with app.app_context(), mock.patch("time.time", return_value=NOW + 0.9):
        identity.audit.record("account changed", SYSTEM)
        assert identity.audit.events()[0].at.timestamp() == NOW

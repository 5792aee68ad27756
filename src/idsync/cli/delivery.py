"""`flask idsync deliver`."""

from __future__ import annotations

import signal
from threading import Event
from typing import Any

import click
from flask.cli import with_appcontext

from idsync.cli.output import clear_errors, database_session, parts, say
from idsync.errors import ConfigurationError
from idsync.oauth.delivery import DeliveryWorker


@click.command("deliver")
@with_appcontext
@click.option("--once", is_flag=True, help="Send what is due now and end; for cron.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@clear_errors
def deliver(once: bool, as_json: bool) -> None:
    """Tell applications of ended sessions (back-channel logout), until SIGTERM or Ctrl-C.

    Run it beside the service; several may run side by side. An application that does not answer
    hears it again after 5 seconds, then less and less often, for a day. Without this command
    running, nothing is lost and nothing is sent.
    """
    if not parts().settings.issuer:
        raise ConfigurationError("IDSYNC_ISSUER is required: it is in every logout token.")
    stop = Event()

    def ask_to_stop(*_: Any) -> None:
        stop.set()

    before = {one: signal.signal(one, ask_to_stop) for one in (signal.SIGTERM, signal.SIGINT)}
    worker = DeliveryWorker(parts().deliveries, database_session())
    try:
        worker.run(stop, once=once)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    say(
        f"{worker.sent} logout tokens delivered, {worker.not_sent} not taken.",
        {"delivered": worker.sent, "not_taken": worker.not_sent},
        as_json,
    )

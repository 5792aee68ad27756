"""Keep a local copy of the accounts up to date.

  pull     bring the copy up to date once
  run      do so every two minutes, until Ctrl-C or SIGTERM
  status   say how fresh the copy is, as JSON with --json

Configured by the environment:

  IDSYNC_URL            the identity service, as https://id.example.org
  IDSYNC_CLIENT_ID      this service's application there; it needs the right `accounts`
  IDSYNC_CLIENT_SECRET  its secret, or
  IDSYNC_CLIENT_SECRET_FILE  a file that holds nothing else
  IDSYNC_SERVICE_TAG    the tag that gives access to this service
  IDSYNC_COPY           the copy's database, as SQLAlchemy writes it
                        (default: sqlite:///idsync-copy.sqlite3)
  IDSYNC_EVERYONE       1 to copy everybody, not only those with the tag
  IDSYNC_LEASE          seconds without a pull until passwords are refused (default: 3600)
  IDSYNC_PULL_EVERY     seconds between pulls of `run` (default: 120)

Exit status: 0 done; 1 it did not succeed, or the copy is too old (status); 2 the command or the
configuration is wrong; 3 another process is pulling.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from idsync.consumer.api import AccountsApi
from idsync.consumer.copy import EVERY, LEASE, LocalCopy, Status
from idsync.consumer.errors import ConsumerError, PullInProgress, describe
from idsync.consumer.store import open_store
from idsync.errors import ConfigurationError

DONE, FAILED, MISCONFIGURED, IN_PROGRESS = range(4)

PROGRESS_INTERVAL = 2
"""Seconds between two lines about a long pull."""


def main() -> int:
    """Run the command; the exit status."""
    arguments = _read_arguments()
    try:
        copy = make_copy(os.environ)
        every = _seconds(os.environ, "IDSYNC_PULL_EVERY", EVERY)
    except (ConfigurationError, ArgumentError, ImportError) as error:
        return _complain(error, MISCONFIGURED)
    except SQLAlchemyError as error:
        return _complain(f"The copy's database: {describe(error)}", FAILED)
    try:
        if arguments.command == "status":
            return _show(copy.status(), as_json=arguments.json)
        if arguments.command == "run":
            return _run(copy, every)
        print(copy.pull(progress=TellProgress()))
        return DONE
    except PullInProgress as error:
        return _complain(error, IN_PROGRESS)
    except ConsumerError as error:
        return _complain(error, FAILED)
    except SQLAlchemyError as error:
        return _complain(f"The copy's database: {describe(error)}", FAILED)
    except KeyboardInterrupt:
        return _complain("Interrupted; the copy is as it was.", FAILED)
    finally:
        copy.store.close()


def make_copy(environment: Mapping[str, str]) -> LocalCopy:
    """The copy that the environment describes. Raises ConfigurationError."""
    api = AccountsApi(
        _given(environment, "IDSYNC_URL"),
        _given(environment, "IDSYNC_CLIENT_ID"),
        _secret(environment),
    )
    tag = _given(environment, "IDSYNC_SERVICE_TAG")
    lease = _seconds(environment, "IDSYNC_LEASE", LEASE)
    everyone = environment.get("IDSYNC_EVERYONE", "0")
    if everyone not in ("0", "1"):
        raise ConfigurationError("IDSYNC_EVERYONE must be 0 or 1.")
    store = open_store(environment.get("IDSYNC_COPY") or "sqlite:///idsync-copy.sqlite3")
    return LocalCopy(api, store, service_tag=tag, everyone=everyone == "1", lease=lease)


class TellProgress:
    """Says on stderr how far a long pull is."""

    def __init__(self) -> None:
        self._told = time.time()

    def __call__(self, step: str, count: int) -> None:
        """Called after each batch."""
        if time.time() - self._told >= PROGRESS_INTERVAL:
            print(f"{count} accounts {step} …", file=sys.stderr, flush=True)
            self._told = time.time()


def _run(copy: LocalCopy, every: float) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    copy.run(every, stop)
    return DONE


def _show(status: Status, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps(asdict(status)))
    elif status.lag is None:
        print("Nothing has been pulled yet.")
    else:
        print(f"{status.accounts} accounts, as of {status.lag:.0f} seconds ago.")
        print(f"Passwords are accepted for another {status.lease_left:.0f} seconds.")
        if status.report is not None:
            print(f"The last pull had {status.report}.")
    if status.changing is not None and not as_json:
        print(f"Being changed by {status.changing}.")
    return DONE if status.lease_left > 0 else FAILED


def _given(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name)
    if not value:
        raise ConfigurationError(f"{name} is not set; see --help.")
    return value


def _secret(environment: Mapping[str, str]) -> str:
    file = environment.get("IDSYNC_CLIENT_SECRET_FILE")
    if not file:
        return _given(environment, "IDSYNC_CLIENT_SECRET")
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text"
        raise ConfigurationError(f"IDSYNC_CLIENT_SECRET_FILE, {file}: {reason}.") from None


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name) or str(default)
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise ConfigurationError(f"{name} must be a whole number of seconds, 1 or more.")
    return int(text)


def _complain(error: object, status: int) -> int:
    print(error, file=sys.stderr)
    return status


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m idsync.consumer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=("pull", "run", "status"))
    parser.add_argument("--json", action="store_true", help="of status")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

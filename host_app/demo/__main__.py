"""Start both services, say how to use them, and stop them at Ctrl-C.

In this order: the ports are checked, before anything is started; `preparation.py` fills a scratch
folder with database, keys, people and the registered application; `servers.py` runs a gunicorn for
each service until one ends or somebody stops us.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from host_app.demo.preparation import PEOPLE, prepare
from host_app.demo.servers import HOST, Server, StopRequest, is_free

SERVICE = "host_app:create_app()"
APPLICATION = "host_app.demo.application:create_app()"


def main() -> int:
    """Run the demo; the exit status."""
    ports = _read_arguments()
    taken = [port for port in (ports.service_port, ports.application_port) if not is_free(port)]
    if taken:
        ports_in_use = " and ".join(f"{HOST}:{port}" for port in taken)
        print(
            f"In use already: {ports_in_use}. Stop what uses it, or "
            "choose another with --service-port and --application-port "
            "(nox -s demo -- --service-port 8010).",
            file=sys.stderr,
        )
        return 1
    # Whatever is configured in this shell belongs to a real service, never to the demo.
    for name in [name for name in os.environ if name.startswith("FLASK_")]:
        del os.environ[name]
    service = f"http://{HOST}:{ports.service_port}"
    application = f"http://{HOST}:{ports.application_port}"
    stop = StopRequest()
    with tempfile.TemporaryDirectory(prefix="idsync-demo-") as folder:
        _run(Path(folder), service, application, stop)
    print("Stopped.")
    return 0 if stop.came else 1


def _run(folder: Path, service: str, application: str, stop: StopRequest) -> None:
    """Run both until somebody stops us, or one of them ends by itself; gunicorn says why."""
    print("Preparing a database with a few people …", flush=True)
    settings = prepare(folder, service, application)
    with (
        Server(SERVICE, service, settings.service) as first,
        Server(APPLICATION, application, settings.application) as second,
    ):
        if first.answers(stop) and second.answers(stop):
            _greet(service, application)
            while not stop.came and first.runs() and second.runs():
                time.sleep(0.2)


def _greet(service: str, application: str) -> None:
    width = max(len(person.email) for person in PEOPLE)
    print(f"\n  Demo application   {application}   <- begin here\n  Identity service   {service}")
    print(f"  Its console        {service}/administration   (as {PEOPLE[0].email})\n")
    print("  Sign in with one of these:\n")
    for person in PEOPLE:
        print(f"    {person.email:<{width}}   {person.password:<10}   {person.about}")
    print("\n  Ctrl-C stops both; nothing is kept.\n", flush=True)


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m host_app.demo", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--service-port", type=int, default=8000, help="default: 8000")
    parser.add_argument("--application-port", type=int, default=8001, help="default: 8001")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""Commands of the reference host as processes of their own, some of which are killed (SIGKILL).

Nothing here needs pytest.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any

import live

LONGEST = 120
"""Seconds until a command that hangs fails the test."""

FLASK = ("-m", "flask", "--app", "host_app", "idsync")


def run(settings: dict[str, Any], *arguments: str) -> str:
    """Run `python …` with the host's settings in its environment; what it printed."""
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=live.REPOSITORY,
        env=live.environment(settings),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if finished.returncode != 0:
        raise AssertionError(finished.stdout + finished.stderr)
    return finished.stdout


def kill_when(reached: Callable[[], bool], settings: dict[str, Any], *arguments: str) -> None:
    """Start `python …` and kill it as soon as the work has come so far, or let it end."""
    # A file, because nobody reads meanwhile, and a full pipe would stop the command.
    with (
        TemporaryFile() as output,
        subprocess.Popen(
            [sys.executable, *arguments],
            cwd=live.REPOSITORY,
            env=live.environment(settings),
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            deadline = time.monotonic() + LONGEST
            while process.poll() is None and not reached():
                if time.monotonic() > deadline:
                    raise AssertionError(f"{arguments} has not come so far.")
                time.sleep(0.001)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        assert process.returncode in (0, -signal.SIGKILL), output.read()

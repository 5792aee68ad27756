"""docs/quickstart.md, typed in as it stands."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import requests

from ports import free_port

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 60  # seconds until an answer counts as missing


def test_the_service_of_the_quickstart_runs(tmp_path: Path) -> None:
    """Each line below "Run it" but the installation; its port is another one here."""
    port = free_port()
    section = (REPOSITORY / "docs/quickstart.md").read_text("utf-8").partition("## Run it")[2]
    (script,) = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    install, *lines = script.replace("8000", str(port)).splitlines()
    assert install.startswith("python3 -m pip install")
    shutil.copytree(REPOSITORY / "host_app", tmp_path / "host_app")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FLASK", "IDSYNC"))
    }
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    environment["PYTHONPATH"] = str(REPOSITORY / "src")
    log = tmp_path / "log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            ["bash", "-ec", "\n".join([*lines[:-1], f"exec {lines[-1]}"])],
            cwd=tmp_path,
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while "Listening at" not in log.read_text("utf-8"):
            assert running.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.1)
        metadata = requests.get(
            f"http://localhost:{port}/.well-known/openid-configuration", timeout=PATIENCE
        ).json()
        assert metadata["issuer"] == f"http://localhost:{port}"
        assert "client_secret" in log.read_text("utf-8")
    finally:
        running.terminate()
        running.wait(PATIENCE)

"""The files to deploy with: they are read by what reads them in earnest, where that is here."""

import json
import secrets
import subprocess
from pathlib import Path

import pytest
import requests

import databases
import hosting
from host_app import create_app
from idsync import ConfigurationError
from ports import free_port
from production.servers import DEPLOYMENT, own_nginx, program

KEYS = ("FLASK_SECRET_KEY", "FLASK_IDSYNC_TOKEN_KEYS", "FLASK_IDSYNC_SEALING_KEYS")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The example, read as systemd and compose do, with a database that is here."""
    lines = (DEPLOYMENT / "environment.example").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("FLASK_SQLALCHEMY_DATABASE_URI", databases.sqlite_url(tmp_path))
    monkeypatch.setenv("FLASK_HOST_FOLDER", str(tmp_path))
    monkeypatch.setenv("FLASK_IDSYNC_LIMITS_STORAGE", "memory://")


@pytest.mark.usefixtures("environment")
def test_the_example_starts_once_its_keys_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name in it is a setting, and every value is one of its type."""
    for name in KEYS:
        with pytest.raises(ConfigurationError, match=name.removeprefix("FLASK_")):
            create_app()
        key = secrets.token_urlsafe(32)
        monkeypatch.setenv(name, key if name == KEYS[0] else json.dumps([key]))
    app = create_app()
    hosting.close_host(app)
    assert app.config["HOST_METRICS_NETWORKS"] == ["127.0.0.0/8", "10.0.0.0/24"]
    assert app.config["HOST_LOG"] == "json"
    assert app.config["SESSION_COOKIE_SECURE"] is True


@pytest.mark.skipif(
    program("nginx") is None, reason="nginx is not installed; Debian's package is nginx-light"
)
def test_nginx_takes_its_file_and_keeps_probes_to_itself(tmp_path: Path) -> None:
    """It says nothing against the file; what is the operator's is not public."""
    with own_nginx(tmp_path / "nginx", [free_port()], free_port()) as nginx:
        statuses = {
            path: requests.get(nginx.url + path, verify=str(nginx.certificate), timeout=10)
            for path in ("/metrics", "/healthz", "/readyz", "/sign-in?code=a-secret-in-a-query")
        }
        assert [one.status_code for one in statuses.values()] == [404, 404, 404, 502]
        assert "max-age" in statuses["/metrics"].headers["Strict-Transport-Security"]
        assert "a-secret-in-a-query" not in nginx.logs


@pytest.mark.skipif(program("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_its_units(tmp_path: Path) -> None:
    """The programs they start are on another machine."""
    units = []
    for file in (DEPLOYMENT / "systemd").iterdir():
        lines = file.read_text(encoding="utf-8").splitlines()
        text = "\n".join(
            f"{line.partition('=')[0]}=/bin/true" if line.startswith("ExecStart") else line
            for line in lines
        )
        units.append(tmp_path / file.name)
        units[-1].write_text(text)
    command = ["systemd-analyze", "verify", *map(str, units)]
    verified = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    ours = [line for line in verified.stderr.splitlines() if str(tmp_path) in line]
    assert (verified.returncode, ours) == (0, [])

"""Client libraries for JavaScript: installed once, from their lock file, into pytest's cache.

Without Node.js there is nothing to run: a skip, and with CI=true a failure.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

INSTALLED_FROM = ("package.json", "package-lock.json", ".npmrc")
INSTALLATION_TIME = 120  # seconds


def installed(cache: pytest.Cache, package: Path) -> Path:
    """A copy of a package's folder with its dependencies beside it."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        _give_up(f"{package.name} needs Node.js 20 or newer, with npm")
    digest = hashlib.sha256(b"".join((package / name).read_bytes() for name in INSTALLED_FROM))
    folder = Path(cache.mkdir(f"{package.name}-{digest.hexdigest()[:16]}"))
    done = folder / "installed"
    if not done.exists():
        for name in INSTALLED_FROM:
            shutil.copy(package / name, folder)
        npm = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALLATION_TIME,
        )
        if npm.returncode != 0:
            _give_up(f"npm could not install {package.name}: {npm.stderr.strip()}")
        done.touch()
    for file in package.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    return folder


def _give_up(reason: str) -> NoReturn:
    """Skip, or fail where the machine is meant to have everything."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)

"""The consumer runs where Flask was never installed."""

import subprocess
import sys

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError(name + " is not for consumers")

sys.meta_path.insert(0, Blocker())
"""
SERVER_SIDE = (
    "flask msgspec werkzeug jinja2 itsdangerous flask_sqlalchemy flask_login flask_wtf argon2"
    " email_validator limits cryptography"
).split()


def run_without(blocked: list[str], code: str) -> None:
    program = BLOCKED.format(blocked=blocked) + code
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_everything_but_sign_in_needs_only_requests_and_sqlalchemy() -> None:
    run_without(
        [*SERVER_SIDE, "authlib", "joserfc"],
        """
import idsync.consumer
for name in idsync.consumer.__all__:
    if name not in ("SignIn", "Departure", "Arrival"):
        getattr(idsync.consumer, name)
import idsync.consumer.__main__
assert dir(idsync.consumer) == idsync.consumer.__all__
""",
    )


def test_sign_in_needs_only_the_client_besides() -> None:
    without = [name for name in SERVER_SIDE if name != "cryptography"]
    run_without(without, "from idsync.consumer import SignIn, Departure, Arrival")

"""The demo's two services on real ports of this machine, with and without TLS.

Nothing here needs pytest.
"""

import datetime as dt
import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from host_app.demo.__main__ import APPLICATION, SERVICE
from host_app.demo.preparation import prepare
from host_app.demo.servers import HOST, Server, StopRequest
from ports import free_port


@dataclass(frozen=True)
class Services:
    """The addresses of the running demo."""

    identity: str
    application: str


@contextmanager
def run_services(folder: Path, scheme: str, *options: str) -> Iterator[Services]:
    """Run the demo on free ports; options are gunicorn's."""
    with mock.patch.dict(os.environ):
        for name in [name for name in os.environ if name.startswith("FLASK_")]:
            del os.environ[name]
        identity, application = (f"{scheme}://{HOST}:{free_port()}" for _ in range(2))
        settings = prepare(folder, identity, application)
        never = NeverStopped()
        with (
            Server(SERVICE, identity, settings.service, *options) as first,
            Server(APPLICATION, application, settings.application, *options) as second,
        ):
            if not (first.answers(never) and second.answers(never)):
                raise RuntimeError("The demo did not start; gunicorn has said why.")
            yield Services(identity, application)


class NeverStopped(StopRequest):
    """Leaves the signals to the tests."""

    def __init__(self) -> None:
        self.came = False


def make_certificate(folder: Path, host: str = HOST) -> tuple[Path, Path]:
    """A self-signed certificate for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate_file, key_file

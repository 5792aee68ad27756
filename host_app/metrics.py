"""Figures for Prometheus at `/metrics`, where `HOST_METRICS` is true.

Counted in each process; under gunicorn they meet in the files of a folder, as the client library
documents for several processes (`PROMETHEUS_MULTIPROC_DIR`). Every label has few values: routes are
rules, not addresses, and nobody's name is in one.

The page is for the operator: it answers addresses in `HOST_METRICS_NETWORKS` and whoever knows
`HOST_METRICS_TOKEN`; for everybody else it does not exist.
"""

from __future__ import annotations

import hmac
import os
import shutil
import tempfile
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

from flask import Flask, Response, abort, current_app, request
from sqlalchemy.exc import SQLAlchemyError

from host_app.models import db, identity
from host_app.request_log import Answered, RequestLog
from idsync import ConfigurationError, signals

PATH = "/metrics"
FOLDER = "PROMETHEUS_MULTIPROC_DIR"

DURATIONS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Seconds; buckets of the histogram. A sign-in hashes a password, a refresh only signs."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

PULLED = {200: "accounts", 304: "nothing new"}
"""What a service got, by the status of the answer."""

SHORTEST_TOKEN = 32
"""Characters."""

# What a proxy adds. Without HOST_PROXIES the address is then the proxy's, whoever asks.
BY_A_PROXY = ("X-Forwarded-For", "Forwarded")


def share_between_workers() -> None:
    """Let the workers that are forked from this process count together, from zero on."""
    given = os.environ.get(FOLDER)
    if given is None:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="identity-metrics-")
        return
    Path(given).mkdir(parents=True, exist_ok=True)
    for file in Path(given).glob("*.db"):
        file.unlink()


def stop_sharing() -> None:
    """Remove the files, when the last worker has ended."""
    shutil.rmtree(os.environ.get(FOLDER, ""), ignore_errors=True)


def init_app(app: Flask, log: RequestLog) -> None:
    """Count, and show what was counted. Raises ConfigurationError."""
    _check(app)
    if not app.config["HOST_METRICS"]:
        return
    try:
        with app.app_context():
            counted = Counted(identity.settings.accounts_path)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "HOST_METRICS needs the package prometheus-client: install idsync with its extra "
            '`metrics`, as in pip install "idsync[host,metrics]".'
        ) from error
    counted.follow(app)
    log.observers.append(counted.answered)
    app.extensions["host_metrics"] = counted  # signals hold their receivers weakly
    app.add_url_rule(PATH, "metrics", counted.page)


class Counted:
    """What this process counts."""

    def __init__(self, accounts_path: str) -> None:
        self._accounts_path = accounts_path
        # Here, because it looks for the folder when it is imported, and may not be installed.
        import prometheus_client as prometheus

        self._registry = registry = prometheus.CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Any:
            return prometheus.Counter(f"identity_{name}", text, labels, registry=registry)

        self._requests = counter("requests", "Requests answered.", "method", "route", "status")
        self._seconds = prometheus.Histogram(
            "identity_request_seconds",
            "Seconds until an answer was ready.",
            ("method", "route"),
            buckets=DURATIONS,
            registry=registry,
        )
        self._pulls = counter("pulls", "Pulls of services, by what they got.", "answer")
        self._sign_ins = counter("sign_ins", "Sessions begun.")
        self._failures = counter("sign_in_failures", "Wrong passwords, codes and passkeys.")
        self._issued = counter("grants_issued", "Authorization codes given to applications.")
        self._redeemed = counter("grants_redeemed", "Codes exchanged for tokens.")
        self._refreshed = counter("refreshes", "Refresh tokens replaced by their successors.")
        self._revoked = counter("grants_revoked", "Grants ended by a revocation or a replay.")

    def follow(self, app: Flask) -> None:
        """Count what idsync tells of this application."""
        signals.signed_in.connect(self._signed_in, app)
        signals.sign_in_failed.connect(self._sign_in_failed, app)
        signals.grant_issued.connect(self._grant_issued, app)
        signals.grant_redeemed.connect(self._grant_redeemed, app)
        signals.grant_refreshed.connect(self._grant_refreshed, app)
        signals.grant_revoked.connect(self._grant_revoked, app)

    def answered(self, answered: Answered) -> None:
        """Count a request."""
        method = answered.method if answered.method in METHODS else "other"
        route = answered.route or "none"
        self._requests.labels(method, route, str(answered.status)).inc()
        self._seconds.labels(method, route).observe(answered.milliseconds / 1000)
        if route == self._accounts_path and method == "GET":
            answer = PULLED.get(answered.status, "refused")
            self._pulls.labels(answer).inc()

    def page(self) -> Response:
        """Everything, in the format that Prometheus reads."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        if not _may_read():
            abort(404)
        registry = self._registry
        if os.environ.get(FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        looked_up = CollectorRegistry()
        looked_up.register(FromDatabase())  # type: ignore[arg-type]
        text = generate_latest(registry) + generate_latest(looked_up)
        return Response(
            text, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"}
        )

    def _signed_in(self, _: Flask, **__: Any) -> None:
        self._sign_ins.inc()

    def _sign_in_failed(self, _: Flask, **__: Any) -> None:
        self._failures.inc()

    def _grant_issued(self, _: Flask, **__: Any) -> None:
        self._issued.inc()

    def _grant_redeemed(self, _: Flask, **__: Any) -> None:
        self._redeemed.inc()

    def _grant_refreshed(self, _: Flask, **__: Any) -> None:
        self._refreshed.inc()

    def _grant_revoked(self, _: Flask, **__: Any) -> None:
        self._revoked.inc()


class FromDatabase:
    """What is the same for all processes and hosts, read when it is asked for."""

    def collect(self) -> Iterator[Any]:
        """Both figures; none while the database is away or not migrated."""
        from prometheus_client.core import GaugeMetricFamily

        try:
            revision = identity.condition.directory_revision()
            outstanding = identity.condition.deliveries_outstanding()
        except SQLAlchemyError:
            db.session.rollback()
            return
        yield GaugeMetricFamily(
            "identity_directory_revision", "Changes of accounts so far.", value=revision
        )
        yield GaugeMetricFamily(
            "identity_deliveries_outstanding", "Logout tokens not delivered yet.", value=outstanding
        )


def _check(app: Flask) -> None:
    if type(app.config["HOST_METRICS"]) is not bool:
        raise ConfigurationError("HOST_METRICS must be true or false.")
    token = app.config["HOST_METRICS_TOKEN"]
    if not isinstance(token, str) or (token and len(token) < SHORTEST_TOKEN):
        raise ConfigurationError(
            f"HOST_METRICS_TOKEN must be random text of at least {SHORTEST_TOKEN} characters."
        )
    try:
        for network in app.config["HOST_METRICS_NETWORKS"]:
            ip_network(network)
    except (TypeError, ValueError):
        raise ConfigurationError(
            'HOST_METRICS_NETWORKS must be a list of networks, such as ["10.1.2.0/24"].'
        ) from None


def _may_read() -> bool:
    token = current_app.config["HOST_METRICS_TOKEN"]
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if token and scheme.lower() == "bearer":
        return hmac.compare_digest(given.strip().encode(), token.encode())
    untold = not current_app.config["HOST_PROXIES"] and any(
        name in request.headers for name in BY_A_PROXY
    )
    return not untold and _is_within(
        request.remote_addr, current_app.config["HOST_METRICS_NETWORKS"]
    )


def _is_within(address: str | None, networks: list[str]) -> bool:
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return False  # a socket file has no address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return any(parsed in ip_network(network) for network in networks)

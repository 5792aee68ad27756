"""The addresses of the account API. Only programs call it: no cookie is looked at, no CORS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from flask import Blueprint, Response

from idsync.account_api.openapi import description
from idsync.account_api.views import AccountApi
from idsync.account_api.wire import JSON_TYPE
from idsync.database import DatabaseSession
from idsync.machine import ALL_METHODS, endpoint
from idsync.settings import Settings

ACCOUNTS = "idsync_accounts"


def account_blueprint(
    settings: Settings, session: DatabaseSession, api: AccountApi, issuer: Callable[[], str]
) -> Blueprint:
    """Accounts, services, and the description of both."""
    blueprint = Blueprint(ACCOUNTS, __name__)

    def add(path: str, name: str, view: Any, *methods: str) -> None:
        wrapped = endpoint(view, session=session, methods=methods, error_body=_error_body)
        blueprint.add_url_rule(path, name, wrapped, methods=ALL_METHODS)

    def openapi() -> Response:
        document = description(settings.accounts_path, settings.services_path, issuer())
        return Response(msgspec.json.format(msgspec.json.encode(document)), mimetype=JSON_TYPE)

    accounts, services = settings.accounts_path, settings.services_path
    above = accounts.rpartition("/")[0]
    add(accounts, "accounts", api.accounts, "GET", "HEAD", "POST")
    add(f"{accounts}/<account_id>", "account", api.account, "POST")
    add(services, "services", api.services, "GET", "HEAD")
    add(f"{above}/openapi.json", "openapi", openapi, "GET", "HEAD")
    # Below a path that is ours alone, a wrong address is answered in JSON too. `above` may be the
    # root, where it would be the host's.
    for number, path in enumerate(sorted({above or accounts, services})):
        add(f"{path}/", f"nothing_{number}", api.unknown, *ALL_METHODS)
        add(f"{path}/<path:rest>", f"unknown_{number}", api.unknown, *ALL_METHODS)
    return blueprint


def _error_body(code: str, text: str) -> dict[str, str]:
    return {"error": text}

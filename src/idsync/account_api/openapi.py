"""The description of the account API (OpenAPI 3.1), generated from the records that travel."""

from __future__ import annotations

from typing import Any

import msgspec

from idsync.account_api import wire
from idsync.accounts.rules import LONGEST_TAG

_REF = "#/components/schemas/{name}"
_RECORDS = (
    wire.AccountList,
    wire.AccountOut,
    wire.CreateAccount,
    wire.CreatedAccount,
    wire.ChangeAccount,
    wire.ServiceList,
    wire.ErrorOut,
    wire.ClientRefusedOut,
)

_ETAG = {"ETag": "Of the list as it is now; send it back as If-None-Match"}
_RETRY = {"Retry-After": "Seconds to wait before trying again"}
_CHALLENGE = {"WWW-Authenticate": "Basic"}


def description(accounts_path: str, services_path: str, issuer: str) -> dict[str, Any]:
    """The whole document."""
    _, schemas = msgspec.json.schema_components(_RECORDS, ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Account synchronization",
            "version": "1",
            "description": "For first-party services that keep a local copy of the accounts.",
        },
        "servers": [{"url": issuer}],
        "security": [{"client": []}],
        "paths": {
            accounts_path: {"get": _list(), "post": _create()},
            f"{accounts_path}/{{id}}": {"post": _change()},
            services_path: {"get": _services()},
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "client": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "client_id and client_secret of an active application with the "
                    "right `accounts`",
                }
            },
        },
    }


def _list() -> dict[str, Any]:
    return {
        "operationId": "listAccounts",
        "summary": "All accounts, those with a tag, or what changed since a cursor",
        "parameters": [
            _parameter(
                "tag",
                "query",
                "Only accounts with this tag",
                schema={"minLength": 1, "maxLength": LONGEST_TAG},
            ),
            _parameter("since", "query", "The cursor of the list you have: only what changed"),
            _parameter("If-None-Match", "header", "The ETag of the list you have"),
        ],
        "responses": {
            "200": _answer("AccountList", "Accounts", _ETAG),
            "304": {"description": "Nothing has changed", "headers": _headers(_ETAG)},
            "400": _answer("ErrorOut", "A parameter was refused; the message names it"),
            "429": _answer("ErrorOut", "A whole list is being written for you already", _RETRY),
            **_ALWAYS,
        },
    }


def _create() -> dict[str, Any]:
    return {
        "operationId": "createAccount",
        "summary": "Create an account, or add the tags to the one with this e-mail address",
        "requestBody": _body("CreateAccount"),
        "responses": {
            "201": _answer("CreatedAccount", "Created"),
            "200": _answer("CreatedAccount", "The person existed; only the tags were added"),
            **_REFUSED,
            **_ALWAYS,
        },
    }


def _change() -> dict[str, Any]:
    return {
        "operationId": "changeAccount",
        "summary": "Change an account, all of it or nothing",
        "parameters": [
            _parameter("id", "path", "The account's id", required=True, schema=wire.ID_SCHEMA)
        ],
        "requestBody": _body("ChangeAccount"),
        "responses": {
            "200": _answer("AccountOut", "The account after the change"),
            "404": _answer("ErrorOut", "No account has this id; create it"),
            **_REFUSED,
            **_ALWAYS,
        },
    }


def _services() -> dict[str, Any]:
    return {
        "operationId": "listServices",
        "summary": "The tags of first-party services",
        "responses": {"200": _answer("ServiceList", "All services"), **_ALWAYS},
    }


def _answer(record: str, text: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": text,
        "content": {wire.JSON_TYPE: {"schema": {"$ref": _REF.format(name=record)}}},
    }
    if headers:
        answer["headers"] = _headers(headers)
    return answer


def _headers(texts: dict[str, str]) -> dict[str, Any]:
    return {
        name: {"description": text, "required": True, "schema": {"type": "string"}}
        for name, text in texts.items()
    }


def _parameter(
    name: str,
    place: str,
    text: str,
    *,
    required: bool = False,
    schema: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "description": text,
        "required": required,
        "schema": {"type": "string", **(schema or {})},
    }


def _body(record: str) -> dict[str, Any]:
    return {
        "required": True,
        "content": {wire.JSON_TYPE: {"schema": {"$ref": _REF.format(name=record)}}},
    }


_ALWAYS = {
    "401": _answer(
        "ClientRefusedOut",
        "Not an active application with a secret and the right `accounts`",
        _CHALLENGE,
    ),
    "503": _answer("ErrorOut", "The database is away", _RETRY),
}
_REFUSED = {
    "400": _answer("ErrorOut", "A value was refused; the message names the field"),
    "413": _answer("ErrorOut", f"The body is longer than {wire.LONGEST_BODY} bytes"),
}

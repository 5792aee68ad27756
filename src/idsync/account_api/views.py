"""The four calls of the account API. Each authenticates first, then reads, then acts, whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from flask import Response, request
from msgspec import UNSET as LEFT_OUT
from werkzeug.wsgi import wrap_file

from idsync.account_api.cursor import Cursor
from idsync.account_api.pull import AccountLists, ListInProgress, Standing
from idsync.account_api.pulls import Pulls
from idsync.account_api.query import read_etags, read_query
from idsync.account_api.wire import (
    JSON_TYPE,
    LONGEST_BODY,
    ChangeAccount,
    CreateAccount,
    CreatedAccount,
    Service,
    ServiceList,
    read_body,
)
from idsync.accounts.change import UNSET, Change
from idsync.accounts.directory import Directory
from idsync.accounts.listing import Listing
from idsync.accounts.rules import checked_subject
from idsync.applications.application import Application
from idsync.applications.authentication import authenticate_client
from idsync.applications.registry import Applications
from idsync.audit.events import Actor
from idsync.database import DatabaseSession, write
from idsync.errors import ClientRefused, InvalidValue, MalformedCredentials, UnknownRecord
from idsync.machine import json_response, note_caller, request_body

RETRY_AFTER = 5
"""Seconds that a service is asked to wait while a list is being written for it."""


class AccountApi:
    """GET and POST of accounts and services."""

    def __init__(
        self,
        *,
        session: DatabaseSession,
        applications: Applications,
        directory: Directory,
        listing: Listing,
        lists: AccountLists,
        pulls: Pulls,
    ) -> None:
        self._session = session
        self._applications = applications
        self._directory = directory
        self._listing = listing
        self._lists = lists
        self._pulls = pulls

    def accounts(self) -> Response:
        """GET lists, POST creates."""
        return self._answer(self._create if request.method == "POST" else self._list)

    def account(self, account_id: str) -> Response:
        """POST changes one account."""
        return self._answer(lambda service: self._change(service, account_id))

    def services(self) -> Response:
        """GET lists the tags of first-party services."""
        return self._answer(self._services)

    def unknown(self, **_: str) -> Response:
        """Any other address below ours."""
        return json_response(404, {"error": "There is nothing at this address."})

    # --- the calls -----------------------------------------------------------------------------

    def _list(self, service: Application) -> Response:
        query = read_query(request.query_string)
        etags = read_etags(request.headers.get("If-None-Match", ""))
        standing = self._lists.standing(_actor(service), query.tag, query.since, etags)
        self._note(service, standing)
        if standing.now in standing.held or "*" in etags:
            return self._headers(Response(status=304), standing.now)
        if request.method == "HEAD":
            return self._headers(Response(mimetype=JSON_TYPE), standing.now)
        written = self._lists.write(service.client_id, query.tag, standing.since)
        response = Response(
            wrap_file(request.environ, written.body), mimetype=JSON_TYPE, direct_passthrough=True
        )
        response.content_length = written.length
        response.call_on_close(written.body.close)
        return self._headers(response, written.cursor)

    def _create(self, service: Application) -> Response:
        wanted = read_body(request_body(LONGEST_BODY), request.mimetype, CreateAccount)

        def work(_: Any) -> tuple[str, bool]:
            record, existed = self._directory.create_or_attach(
                actor=_actor(service),
                name=wanted.name,
                email=wanted.email,
                verifier=wanted.password,
                tags=wanted.tags,
                subject=None if wanted.id is LEFT_OUT else wanted.id,
            )
            return record.subject, existed

        subject, existed = write(self._session, work)
        answer = CreatedAccount(existed, subject, self._record(subject))
        return _encoded(200 if existed else 201, answer)

    def _change(self, service: Application, account_id: str) -> Response:
        _refuse_impossible(account_id)
        wanted = read_body(request_body(LONGEST_BODY), request.mimetype, ChangeAccount)
        change = Change(
            name=_given(wanted.name),
            email=_given(wanted.email),
            verifier=_given(wanted.password),
            tags_add=tuple(wanted.tags_add),
            tags_remove=tuple(wanted.tags_remove),
            disabled=_given(wanted.disabled),
        )
        write(
            self._session,
            lambda _: self._directory.change(account_id, change, actor=_actor(service)),
        )
        return _encoded(200, self._record(account_id))

    def _services(self, service: Application) -> Response:
        services = [
            Service(application.service_tag, application.name)
            for application in self._applications.all()
            if application.active and application.service_tag is not None
        ]
        return _encoded(200, ServiceList(services))

    # --- details -------------------------------------------------------------------------------

    def _answer(self, call: Callable[[Application], Response]) -> Response:
        """Authenticate, make the call, and turn refusals into their status: the one place."""
        try:
            return call(self._authenticate())
        except (ClientRefused, MalformedCredentials) as error:
            return json_response(
                401,
                {"error": "invalid_client", "error_description": str(error)},
                {"WWW-Authenticate": 'Basic realm="idsync"'},
            )
        except InvalidValue as error:
            self._session.rollback()
            return json_response(400, {"error": str(error)})
        except UnknownRecord as error:
            self._session.rollback()
            return json_response(404, {"error": str(error)})
        except ListInProgress:
            return json_response(
                429,
                {"error": "A whole list is being written for this application; wait for it."},
                {"Retry-After": str(RETRY_AFTER)},
            )

    def _authenticate(self) -> Application:
        """The service: an active application with a secret and the right `accounts`."""
        header = request.headers.get("Authorization")
        service, _ = authenticate_client(self._applications.find, header, {})
        if service.public or not service.accounts:
            raise ClientRefused("Client authentication failed.")
        note_caller(client_id=service.client_id)
        return service

    def _note(self, service: Application, standing: Standing) -> None:
        revision = 0 if standing.has is None else standing.has.revision
        self._pulls.record(service.client_id, standing.now.incarnation, revision)

    def _record(self, subject: str) -> Any:
        found = self._listing.find(subject)
        if found is None:
            raise UnknownRecord(f"No account has the id {subject!r}.")
        return self._lists.record(found)

    def _headers(self, response: Response, cursor: Cursor) -> Response:
        response.headers["ETag"] = f'"{cursor}"'
        # It may be kept only to be asked about again; it holds password hashes.
        response.headers["Cache-Control"] = "no-store"
        return response


def _refuse_impossible(account_id: str) -> None:
    """Raise UnknownRecord for what no account's id can be; it never reaches the database."""
    try:
        checked_subject(account_id)
    except InvalidValue:
        raise UnknownRecord("No account can have this id.") from None


def _actor(service: Application) -> Actor:
    return Actor("service", service.client_id)


def _given(value: Any) -> Any:
    return UNSET if value is LEFT_OUT else value


def _encoded(status: int, record: msgspec.Struct) -> Response:
    response = Response(msgspec.json.encode(record), status, mimetype=JSON_TYPE)
    response.headers["Cache-Control"] = "no-store"
    return response

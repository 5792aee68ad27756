"""Refuses the statements of the ORM that change accounts without a flush seeing it."""

from __future__ import annotations

from sqlalchemy import event
from sqlalchemy.orm import ORMExecuteState

from idsync.accounts.record import AccountModels
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue

REFUSED = (
    "Bulk statements on {name} pass the directory by, so consuming services would never hear of "
    "the change. Change the objects one by one or through identity.directory; after a statement "
    "of raw SQL call identity.touch(keys)."
)


def refuse_bulk_statements(session: DatabaseSession, models: AccountModels) -> None:
    """Refuse them, with InvalidValue, in every session this factory makes."""

    def refuse(state: ORMExecuteState) -> None:
        if not (state.is_update or state.is_delete or state.is_insert):
            return
        mapper = state.bind_mapper
        if mapper is None or not issubclass(
            mapper.class_, (models.user_class, models.record_class)
        ):
            return
        if state.is_update and not _touches_exported(state, models):
            return
        raise InvalidValue("account", REFUSED.format(name=mapper.class_.__name__))

    event.listen(session, "do_orm_execute", refuse)


def _touches_exported(state: ORMExecuteState, models: AccountModels) -> bool:
    """Whether an UPDATE may change what services see; a host's own `last_seen` is free."""
    if state.bind_mapper is None or state.bind_mapper.class_ is models.record_class:
        return True
    values = getattr(state.statement, "_values", None) or {}
    names = {getattr(column, "key", column) for column in values}
    names |= set(state.parameters) if isinstance(state.parameters, dict) else set()
    own = {models.user_name.key, models.user_email.key, models.user_key.key}
    own |= {models.name_attribute, models.email_attribute, "name", "email"}
    return not names or bool(names & own) or isinstance(state.parameters, list)

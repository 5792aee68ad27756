"""Log lines: a JSON object each, or plain text; on standard error, never with a secret in them.

`HOST_LOG` chooses. Every line that is written while a request is answered carries its id, lines
from threads that the request started included.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import re
import sys
from contextvars import ContextVar
from typing import Any, TextIO

JSON, TEXT, QUIET = "json", "text", "quiet"
"""Values of `HOST_LOG`. quiet: text, and only what went wrong."""

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is being answered."""

OUR_LOGGERS = ("idsync", "host_app")
"""What these say is told from INFO on unless it is to be quiet; everybody else from WARNING on."""

# Whatever looks like one of our codes, tokens or client secrets: a traceback may quote anything.
_SECRET = re.compile(r"\b(ac|at|rt|ids)_[\w.~-]{16,}")

_ESCAPED = {
    code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
}


class JsonLines(logging.Formatter):
    """One JSON object a line, so that nothing in a message can pass for another line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without its end."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if current := request_id.get():
            line["request_id"] = current
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _masked(json.dumps(line, ensure_ascii=False, default=str))


class TextLines(logging.Formatter):
    """For a person's eyes."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """A line that no message can end, to begin another one."""
        record.message = record.message.translate(_ESCAPED)
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        """The line, with a traceback below it where there is one."""
        text = super().format(record)
        current = request_id.get()
        return _masked(f"{text} [{current}]" if current and not record.exc_info else text)


class Handler(logging.StreamHandler):  # type: ignore[type-arg]
    """Standard error as it is at the moment; a class of our own, so that the next application in
    this process finds it and takes its place.
    """

    def __init__(self) -> None:
        logging.Handler.__init__(self)  # without StreamHandler's own, which would keep a stream

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """Where to write."""
        return sys.stderr


def formatter(kind: str) -> logging.Formatter:
    """The formatter for a value of `HOST_LOG`."""
    return JsonLines() if kind == JSON else TextLines()


def set_up(kind: str) -> None:
    """Send all log lines of this process to standard error in this form."""
    handler = Handler()
    handler.setFormatter(formatter(kind))
    for old in [one for one in logging.root.handlers if isinstance(one, Handler)]:
        logging.root.removeHandler(old)
    logging.root.addHandler(handler)
    for name in OUR_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING if kind == QUIET else logging.INFO)


def _time(record: logging.LogRecord) -> str:
    at = dt.datetime.fromtimestamp(record.created, dt.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _masked(text: str) -> str:
    return _SECRET.sub(r"\1_***", text)

"""How gunicorn serves us: `gunicorn --config python:host_app.serving 'host_app:create_app()'`.

Names are those of gunicorn's settings; it ignores the ones its version does not know.
"""

from __future__ import annotations

import os
import re
from typing import Any

from gunicorn.glogging import Logger

from host_app.logs import TEXT, formatter
from host_app.metrics import share_between_workers, stop_sharing

# Browsers open connections ahead of need. A worker without threads waits on such a one, idle,
# while others queue.
worker_class = "gthread"
workers = 2
threads = 4

# Seconds that an idle connection is kept: longer than nginx keeps it (60). The side that sends the
# next request has to be the one that closes; else a POST meets a connection just closed, and is a
# 502, because nobody sends it again.
keepalive = 75

# Bytes. An authorization request travels in the address, and again inside that of the sign-in
# page; gunicorn's own default is half of this, its greatest value.
limit_request_line = 8190

# A socket in the home directory by which commands could reach the server; we have none.
control_socket_disable = True

# Where somebody wants gunicorn's access log beside ours: no address, no query and no referrer,
# because codes, tokens and mailed links travel in them.
access_log_format = "%(h)s %(m)s %(s)s %(M)s ms"

_REQUEST = re.compile(r"(Invalid request from ip=\S+: [A-Za-z ]*).*", re.DOTALL)


class SilentAboutRequests(Logger):  # type: ignore[misc]
    """gunicorn's log in the form of ours, without what stood in a request."""

    def setup(self, cfg: Any) -> None:
        """Give every handler our form."""
        super().setup(cfg)
        # Flask reads a value as JSON where it is some, so quotes may stand around it.
        kind = os.environ.get("FLASK_HOST_LOG", TEXT).strip('"')
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.setFormatter(formatter(kind))

    def warning(self, msg: Any, *args: Any, **options: Any) -> None:
        """Cut off the part of a request that could not be read."""
        super().warning(_REQUEST.sub(r"\1", str(msg)), *args, **options)

    def exception(self, msg: Any, *args: Any, **options: Any) -> None:
        """Leave the address of a request out; the traceback says where it failed."""
        if str(msg).startswith("Error handling request"):
            msg, args = "Error handling a request", ()
        super().exception(msg, *args, **options)


logger_class = SilentAboutRequests

if os.environ.get("FLASK_HOST_METRICS") == "true":
    share_between_workers()


def on_exit(server: Any) -> None:
    """Called by gunicorn's first process before it ends."""
    stop_sharing()

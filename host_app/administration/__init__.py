"""The web console for administrators. `entrance.py` lets them in; each other module is some pages.

Thin like the rest of the host: who may come in, what a change does and what the audit log says is
decided by `idsync.require_administrator` and the console that it gives.
"""

from host_app.administration import applications, audit, keys, overview, people, person
from host_app.administration.entrance import blueprint

__all__ = ["applications", "audit", "blueprint", "keys", "overview", "people", "person"]

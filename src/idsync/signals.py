"""Signals (blinker) sent by idsync. The sender is the Flask application.

Receivers run inside the request; an exception they raise fails it, unless said otherwise.
"""

from blinker import Namespace

_signals = Namespace()

signed_in = _signals.signal("idsync-signed-in")
"""A browser session began. Arguments: `subject` (str), `amr` (tuple of str)."""

signed_out = _signals.signal("idsync-signed-out")
"""A browser session ended at the person's wish. Arguments: `subject` (str)."""

sign_in_failed = _signals.signal("idsync-sign-in-failed")
"""A password, code or passkey was wrong. Arguments: `subject` (str, or None where nobody is known),
`method` (str). Sent every time, also where the audit log notes no more of them; what a receiver
raises is logged and changes nothing.
"""

grant_issued = _signals.signal("idsync-grant-issued")
"""An application received an authorization code. Arguments: `subject`, `client_id` (str)."""

grant_redeemed = _signals.signal("idsync-grant-redeemed")
"""A code was exchanged for tokens. Arguments: `subject`, `client_id` (str)."""

grant_refreshed = _signals.signal("idsync-grant-refreshed")
"""A refresh token was rotated. Arguments: `subject`, `client_id` (str)."""

grant_revoked = _signals.signal("idsync-grant-revoked")
"""A token was revoked or replayed, which ended its grant. Arguments: `subject`, `client_id`,
`reason` (str).
"""

event_recorded = _signals.signal("idsync-event-recorded")
"""An event of the audit log was committed. Arguments: its columns `at`, `kind`, `actor_kind`,
`actor`, `address`, `subject`, `client_id`, `details`, and `previous_email`, the address that an
account gave up. Sent after the commit, so a receiver cannot use the database session, and what it
raises is logged and changes nothing.
"""

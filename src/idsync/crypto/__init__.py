"""Values that must not be forged, read or guessed: signed references, sealing, hashes, secrets.

Everything here takes values and returns values. It knows no table and no Flask, and imports
nothing of ours but ``idsync.errors``; ``exchange`` needs only the standard library besides,
because services that keep a copy of the accounts import it too.
Start reading with ``keys``, then ``references`` (tokens) or ``passwords`` (sign-in).
"""

"""The account API: with it first-party services keep a local copy of the accounts and change them.

It exposes password hashes, so only active applications with a secret and the right `accounts` get
in. May import every part below it, never `oauth`. Read `blueprint.py` (addresses), then `views.py`;
`wire.py` has the records as they travel, `pull.py` the list and its cursor.
"""

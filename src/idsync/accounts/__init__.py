"""Accounts: the companion row beside the host's own user table, and every rule about it.

No HTTP and no Flask here. May import `applications`, `audit`, `crypto` and the shared leaves.
Start with `record.py` (the row), then `directory.py` (how accounts are made and changed) and
`passwords.py` (the one verifier an account has).
"""

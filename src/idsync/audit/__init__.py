"""Audit: who did what to whom, when and from where. Append only, no secrets.

May import the shared leaves only. Everything is in `events.py`.
"""

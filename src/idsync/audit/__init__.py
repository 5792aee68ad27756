"""Audit: who did what to whom, when and from where. Append only, no secrets.

May import the shared leaves only. `events.py` has the table, its writer and what an event is,
`reading.py` how events are found again.
"""

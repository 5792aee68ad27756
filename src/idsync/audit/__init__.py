"""Audit: who did what to whom, when and from where. Append only, no secrets.

May import the shared leaves only. `values.py` says what an event is,
`events.py` has the table and its writer, `reading.py` how events are found again.
"""

"""Who is at the browser and how they proved it: by password, phone, app or passkey, in one step or
two, and how often they may try.

May import `accounts`, `applications`, `audit`, `crypto`. Start with `sessions.py` (the rows) and
`browser.py` (their tie to Flask-Login); then one way in, such as `password.py` with `limits.py`,
and `factors.py` for the second step. `own_email.py` is for people who cannot get in.
"""

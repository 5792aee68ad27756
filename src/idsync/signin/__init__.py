"""Who is at the browser and how they proved it: session rows and their tie to Flask-Login.

May import `accounts`, `applications`, `audit`, `crypto`. Start with `sessions.py` (the rows),
then `browser.py` (Flask-Login) and `cookies.py`.
"""

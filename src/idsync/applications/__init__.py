"""Client applications: what is registered, how they prove who they are.

Imports `crypto` and the shared leaves only; knows nothing of people, Flask or Authlib. Start with
`application.py` (the value and the rules of registration), then `authentication.py`.
"""

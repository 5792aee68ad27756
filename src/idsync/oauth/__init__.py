"""OAuth 2.0 and OpenID Connect: everything between "send the person to authorize" and "goodbye".

May import every part below it, never `account_api`; the only one that sees Authlib's server.
Read one sign-in in this order: `authorize.py` (the view and its steps), `request.py` (the checks
on a request), `interaction.py` (what to ask the person), `server.py` (Authlib's server, through
which every grant goes), `authorization_code.py` (issue and redeem), `id_token.py`, `userinfo.py`.
"""

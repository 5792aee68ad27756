"""What an administrator does in a web console: the rules and the data, without a page.

`Console` is all of it, and `access.py` who gets one; the other modules are its parts. Every change
goes through the Directory or the applications, with the administrator as the actor. May import
everything but the extension and the commands. Start reading in `console.py`.
"""

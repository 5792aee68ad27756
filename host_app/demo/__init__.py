"""The demo: the reference service and an application that signs people in with it.

`python -m host_app.demo`, or `nox -s demo`. Everything it writes is in a scratch folder that goes
when it ends. Start with `__main__.py`; `application.py` is the part to copy from.
"""

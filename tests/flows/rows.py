"""What a test does to the rows of the host, past its code."""

from typing import Any

from flask import Flask
from sqlalchemy import text

from host_app.models import db


def execute(app: Flask, statement: str, **values: Any) -> None:
    with app.app_context():
        db.session.execute(text(statement), values)
        db.session.commit()

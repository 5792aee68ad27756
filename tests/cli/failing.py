"""A command that is refused. Nothing here needs pytest."""

from typing import Any

from flask import Flask


def fail(app: Flask, *args: str, **options: Any) -> str:
    """Run a command that must fail, and return what it said."""
    result = app.test_cli_runner().invoke(args=["idsync", *args], **options)
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    return result.output

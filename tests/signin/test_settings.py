"""The settings of signing in: wrong ones are refused, and secret ones shown nowhere."""

from dataclasses import replace

import pytest
from flask import Flask

import hosting
from host_app.models import identity
from idsync import ConfigurationError, Settings
from idsync.signin.factors import NewApp
from idsync.signin.first_step import FirstStep


def test_no_secret_stands_in_a_repr(app: Flask) -> None:
    """Reprs end up in logs and error reports."""
    settings = replace(
        identity_settings(app),
        limits_storage="redis://:hunter2@localhost",
        phone_sender="https://user:hunter2@gateway.example",
        phone_gateway_token="hunter2",
    )
    made = (NewApp("hunter2", "otpauth://hunter2"), FirstStep("a", b"hunter2", (), 0))
    assert "hunter2" not in repr((settings, *made))


def identity_settings(app: Flask) -> Settings:
    with app.app_context():
        return identity.settings


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("ADDRESS_LIMIT", "often"),
        ("LIMITS_STORAGE", "carrier-pigeon://"),
        ("ACCOUNT_TRIES", 0),
        ("SECOND_FACTOR_TRY_SECONDS", 0),
        ("PHONE_REGION", "de"),
        ("PHONE_SENDER", "gopher://example.org"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(setting: str, value: object, tmp_path: object) -> None:
    config = hosting.configuration(
        f"sqlite:///{tmp_path}/x.sqlite3", **{f"IDSYNC_{setting}": value}
    )
    with pytest.raises(ConfigurationError, match=f"IDSYNC_{setting}"), hosting.host(config):
        pass

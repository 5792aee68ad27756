"""Reading parameters out of a query or a form body: UTF-8, bounded, no control characters.

Werkzeug's own parser replaces what it cannot decode; a replaced character in a secret or an address
is a different secret or address, so what cannot be read is refused instead.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

MOST_PARAMETERS = 64
LONGEST_INPUT = 32_768
"""Bytes of a query or body; a real request has well under 4,000."""


class UnreadableParameters(ValueError):
    """The input is no form; the message says why, without repeating it."""


Parameters = dict[str, list[str]]


def read_parameters(raw: bytes) -> Parameters:
    """All values of every parameter, in order. Raises UnreadableParameters."""
    if len(raw) > LONGEST_INPUT:
        raise UnreadableParameters("The request is too large.")
    try:
        pairs = parse_qsl(
            raw.decode("utf-8"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=MOST_PARAMETERS,
        )
    except UnicodeError:
        raise UnreadableParameters("The parameters are not percent-encoded UTF-8.") from None
    except ValueError:
        raise UnreadableParameters("The request has too many parameters.") from None
    parameters: Parameters = {}
    for name, value in pairs:
        if any(ord(character) < 0x20 or ord(character) == 0x7F for character in name + value):
            raise UnreadableParameters("The parameters hold control characters.")
        parameters.setdefault(name, []).append(value)
    return parameters


def single_values(parameters: Parameters) -> dict[str, str]:
    """Each parameter's one value; a parameter without a value counts as absent (RFC 6749 §3.1).

    Raises UnreadableParameters where one is repeated.
    """
    if any(len(values) > 1 for values in parameters.values()):
        raise UnreadableParameters("A parameter is repeated.")
    return {name: values[0] for name, values in parameters.items() if values[0]}

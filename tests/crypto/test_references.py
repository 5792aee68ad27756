"""Signed references: only what was signed is read, in its one spelling."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous.encoding import base64_decode, base64_encode

from idsync.crypto.references import MAX_REFERENCE_LENGTH, ReferenceSigner, ReferenceTooLong
from idsync.errors import ConfigurationError

OLD, NEW, FOREIGN = bytes(32), bytes(range(32)), b"\xff" * 32
BASE64_ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
signer = ReferenceSigner([NEW, OLD], "access token", "at_")
payloads = st.binary(max_size=64)
any_character = st.one_of(st.sampled_from(BASE64_ALPHABET + ".=+/ \n\0"), st.characters())


@given(st.binary(max_size=500))
def test_what_was_signed_is_read(payload: bytes) -> None:
    """Any payload comes back, from text that is safe in addresses and begins as announced."""
    text = signer.sign(payload)
    assert signer.read(text) == payload
    assert text.startswith("at_")
    assert set(text) <= set(BASE64_ALPHABET + ".")


def test_the_format_never_changes() -> None:
    """A reference written down: one made by another release must be read by this one."""
    text = "at_Z3JhbnQgYW5kIGdlbmVyYXRpb24.7twiYxyiWGNkbpczOMb_5TkNBuNmgPZ2HrsKs6Rq6QE"
    assert signer.sign(b"grant and generation") == text
    assert signer.read(text) == b"grant and generation"


@given(payloads, st.data())
def test_any_one_changed_character_is_refused(payload: bytes, data: st.DataObject) -> None:
    """Replacing any character by any other gives nothing, spare bits of base64 included."""
    text = signer.sign(payload)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(any_character.filter(lambda character: character != text[place]))
    assert signer.read(text[:place] + other + text[place + 1 :]) is None


@given(payloads, st.data())
def test_added_or_missing_text_is_refused(payload: bytes, data: st.DataObject) -> None:
    """Nothing may be put in anywhere, and no stretch left out: the decoder would skip junk."""
    text = signer.sign(payload)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    addition = data.draw(st.text(any_character, min_size=int(start == end), max_size=3))
    if addition != text[start:end]:
        assert signer.read(text[:start] + addition + text[end:]) is None


@given(st.text(st.characters()))
def test_any_text_may_be_read(text: str) -> None:
    """Arbitrary text, half characters included, is refused without an exception."""
    assert signer.read(text) is None
    assert signer.read("at_" + text) is None
    assert signer.read("at_" + text + "." + text) is None


@given(payloads)
def test_the_spare_bits_of_a_signature_are_part_of_it(payload: bytes) -> None:
    """Of the four last characters that decode to the same signature only ours is read."""
    text = signer.sign(payload)
    first = BASE64_ALPHABET.index(text[-1])
    for last in BASE64_ALPHABET[first + 1 : first + 4]:
        respelled = text[:-1] + last
        assert base64_decode(respelled[-43:]) == base64_decode(text[-43:])
        assert signer.read(respelled) is None


@given(payloads)
def test_all_keys_read_and_the_newest_signs(payload: bytes) -> None:
    """During a change of keys older references stay valid; a removed key ends its own."""
    by_old = ReferenceSigner([OLD], "access token", "at_").sign(payload)
    by_new = ReferenceSigner([NEW], "access token", "at_").sign(payload)
    assert signer.sign(payload) == by_new
    assert signer.read(by_old) == signer.read(by_new) == payload
    assert ReferenceSigner([FOREIGN, NEW], "access token", "at_").read(by_old) is None


@given(payloads)
def test_purpose_and_prefix_keep_references_apart(payload: bytes) -> None:
    """A reference of one kind is not read as another, even with the prefix exchanged."""
    refresh = ReferenceSigner([NEW, OLD], "refresh token", "at_")
    renamed = ReferenceSigner([NEW, OLD], "access token", "rt_")
    bare = ReferenceSigner([NEW, OLD], "access token")
    text = signer.sign(payload)
    assert refresh.read(text) is None
    assert renamed.read(text) is None
    assert renamed.read("rt_" + text.removeprefix("at_")) is None
    assert bare.read(text) is None
    assert bare.read(text.removeprefix("at_")) is None
    assert signer.read(bare.sign(base64_encode(payload))) is None


def test_length_is_limited_on_both_sides() -> None:
    """Overlong text is not looked at, and what could not be read is not signed."""
    longest = next(
        size for size in range(MAX_REFERENCE_LENGTH, 0, -1) if len(_sign_or_empty(size)) > 0
    )
    text = signer.sign(bytes(longest))
    assert len(text) <= MAX_REFERENCE_LENGTH
    assert signer.read(text) == bytes(longest)
    assert signer.read("at_" + "A" * MAX_REFERENCE_LENGTH + "." + "A" * 43) is None
    with pytest.raises(ReferenceTooLong):
        signer.sign(bytes(longest + 1))


def test_signing_needs_a_key() -> None:
    """Without a key there is no signer, rather than one that signs with nothing."""
    with pytest.raises(ConfigurationError):
        ReferenceSigner([], "access token")


def _sign_or_empty(size: int) -> str:
    try:
        return signer.sign(bytes(size))
    except ReferenceTooLong:
        return ""

"""Sealing: a sealed value opens where it belongs and nowhere else."""

from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from idsync.crypto.keys import key_id
from idsync.crypto.sealing import Sealer, SealingKeyMissing, UnsealError
from idsync.errors import ConfigurationError

OLD, NEW = bytes(32), bytes(range(32))
sealer = Sealer([NEW, OLD])
names = st.text(max_size=20)


@given(st.binary(max_size=200), names, names)
def test_what_was_sealed_opens(plain: bytes, purpose: str, subject: str) -> None:
    """Any value comes back for its purpose and subject, and the blob does not show it."""
    blob = sealer.seal(plain, purpose=purpose, subject=subject)
    assert sealer.unseal(blob, purpose=purpose, subject=subject) == plain
    assert len(blob) == len(plain) + 33
    assert len(plain) < 4 or plain not in blob


def test_the_format_never_changes() -> None:
    """A blob written down: what another release sealed must open in this one."""
    blob = bytes.fromhex(
        "01b70e175f58b1dad225cdf83f65f87256527bd114a300cd8a4a1963d2a1583e3a09a871bce1c37011a786d0f7"
    )
    assert sealer.unseal(blob, purpose="totp", subject="anna") == b"written down"


def test_sealing_twice_gives_different_blobs() -> None:
    """Equal values do not show as equal: every blob has its own nonce."""
    blobs = {sealer.seal(b"same", purpose="totp", subject="anna") for _ in range(100)}
    assert len({blob[5:17] for blob in blobs}) == 100


@given(names, names, names, names)
def test_a_moved_value_does_not_open(
    purpose: str, subject: str, other_purpose: str, other_subject: str
) -> None:
    """Another purpose or another subject refuses the blob."""
    assume((purpose, subject) != (other_purpose, other_subject))
    blob = sealer.seal(b"secret", purpose=purpose, subject=subject)
    with pytest.raises(UnsealError):
        sealer.unseal(blob, purpose=other_purpose, subject=other_subject)


@given(names, names, st.integers(0, 40))
def test_purpose_and_subject_do_not_run_together(purpose: str, subject: str, cut: int) -> None:
    """The same letters divided in another way are another place."""
    joined = purpose + subject
    cut = min(cut, len(joined))
    assume(joined[:cut] != purpose)
    blob = sealer.seal(b"secret", purpose=purpose, subject=subject)
    with pytest.raises(UnsealError):
        sealer.unseal(blob, purpose=joined[:cut], subject=joined[cut:])


@given(st.binary(max_size=40), st.data())
def test_an_altered_value_does_not_open(plain: bytes, data: st.DataObject) -> None:
    """Changing any byte of the blob, its header included, or cutting it short refuses it."""
    blob = sealer.seal(plain, purpose="totp", subject="anna")
    place = data.draw(st.integers(0, len(blob) - 1))
    difference = data.draw(st.integers(1, 255))
    altered = bytearray(blob)
    altered[place] ^= difference
    for wrong in (bytes(altered), blob[:place], blob + bytes([difference])):
        with pytest.raises(UnsealError):
            sealer.unseal(wrong, purpose="totp", subject="anna")


@given(st.binary(max_size=100))
def test_any_bytes_may_be_unsealed(blob: bytes) -> None:
    """Arbitrary bytes are refused with the one error there is."""
    with pytest.raises(UnsealError):
        sealer.unseal(blob, purpose="totp", subject="anna")


def test_a_missing_key_is_named() -> None:
    """Whoever lost a key learns which, by the id that blobs show, and nothing of the content."""
    blob = Sealer([OLD]).seal(b"content", purpose="totp", subject="anna")
    with pytest.raises(SealingKeyMissing) as missing:
        Sealer([NEW]).unseal(blob, purpose="totp", subject="anna")
    assert missing.value.key_id == key_id(OLD)
    assert key_id(OLD).hex() in str(missing.value)
    assert "content" not in str(missing.value)


def test_a_change_of_keys_is_visible() -> None:
    """The newest key seals, older ones open, and a blob tells which it was sealed with."""
    older = Sealer([OLD]).seal(b"value", purpose="totp", subject="anna")
    newer = sealer.seal(b"value", purpose="totp", subject="anna")
    assert sealer.key_ids == (key_id(NEW), key_id(OLD))
    assert sealer.unseal(older, purpose="totp", subject="anna") == b"value"
    assert (sealer.sealed_with(older), sealer.sealed_with(newer)) == (key_id(OLD), key_id(NEW))
    assert not older.startswith(sealer.header)
    assert newer.startswith(sealer.header)


@pytest.mark.parametrize("blob", [b"", b"\x01" * 32, b"\x02" + bytes(40)])
def test_no_blob_has_no_key(blob: bytes) -> None:
    """Bytes that are no sealed value are an error, not an old one."""
    with pytest.raises(UnsealError):
        sealer.sealed_with(blob)


def test_a_check_value_belongs_to_one_key() -> None:
    """It is the same in every process, differs between keys, and is none of the key's bytes."""
    values = [sealer.check_value(one) for one in sealer.key_ids]
    assert values[0].hex() == ("13658a6dc4c4abd0a2d45743e97756215ea92348ef69968e1955c34d357d49bc")
    assert values == [
        Sealer([NEW]).check_value(key_id(NEW)),
        Sealer([OLD]).check_value(key_id(OLD)),
    ]
    assert values[0] != values[1]
    with pytest.raises(SealingKeyMissing):
        sealer.check_value(b"none")


def test_unusable_keys_are_refused_at_start() -> None:
    """No key, or two keys of one id, end the start rather than a later read."""
    with pytest.raises(ConfigurationError):
        Sealer([])
    with (
        patch("idsync.crypto.sealing.key_id", return_value=b"same"),
        pytest.raises(ConfigurationError),
    ):
        Sealer([NEW, OLD])

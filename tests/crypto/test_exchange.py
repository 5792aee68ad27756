"""The exchange format: read as the contract writes it, computed as everybody computes it."""

import base64
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from hypothesis import given, settings
from hypothesis import strategies as st

import idsync.crypto.exchange
from idsync.crypto.exchange import (
    MAX_PASSWORD_LENGTH,
    SALT_ENCODINGS,
    ExchangeHash,
    ExchangeHashError,
    UnusablePassword,
    is_exchange_hash,
)
from idsync.errors import ConfigurationError

SALT_CHARACTERS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "$")
HEX = "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
# RFC 7914 §11: PBKDF2-HMAC-SHA256 (P="Password", S="NaCl", c=80000), its first 32 bytes.
RFC_7914 = f"pbkdf2$80000$NaCl${HEX}"
DIGEST = bytes.fromhex(HEX)

salts = st.text(SALT_CHARACTERS, min_size=1, max_size=256)
digests = st.binary(min_size=32, max_size=32)
accepted_iterations = st.integers(10_000, 2_000_000)


def independently(plain: str, salt: bytes, iterations: int) -> bytes:
    return PBKDF2HMAC(SHA256(), 32, salt, iterations).derive(plain.encode())


def test_the_published_vector_verifies() -> None:
    """RFC 7914's own numbers: the right password is right, any other is wrong."""
    stored = ExchangeHash.parse(RFC_7914)
    assert stored.verify("Password")
    assert not stored.verify("password")


@pytest.mark.parametrize(
    ("salt_encoding", "salt_text", "salt"),
    [
        ("text", "NaCl", b"NaCl"),
        ("text", "00ff", b"00ff"),
        ("hex", "00ff", b"\x00\xff"),
        ("hex", "00FF", b"\x00\xff"),
        ("base64", "AP8=", b"\x00\xff"),
        ("base64", "AP8", b"\x00\xff"),
        ("base64", "+/+/", b"\xfb\xff\xbf"),
        ("base64", "-_-_", b"\xfb\xff\xbf"),
    ],
)
@pytest.mark.parametrize(
    "plain", ["", "correct horse", "пароль", "e\u0301", "nul\0byte", "x" * 1024]
)
def test_another_implementation_agrees(
    plain: str, salt_encoding: str, salt_text: str, salt: bytes
) -> None:
    """The hash is PBKDF2-HMAC-SHA256 of the UTF-8 as given, under each reading of the salt."""
    stored = ExchangeHash(10, salt_text, independently(plain, salt, 10))
    assert stored.verify(plain, salt_encoding=salt_encoding)
    assert not stored.verify(plain + "x", salt_encoding=salt_encoding)


def test_passwords_are_not_normalized() -> None:
    """A precomposed letter and the same letter in two parts are different passwords."""
    stored = ExchangeHash.create("\u00e9", iterations=1)
    assert not stored.verify("e\u0301")


@given(accepted_iterations, salts, digests)
def test_every_hash_round_trips(iterations: int, salt: str, digest: bytes) -> None:
    """What is printed is read back as the same value, with the hash in lowercase hex."""
    value = ExchangeHash(iterations, salt, digest)
    assert str(value) == f"pbkdf2${iterations}${salt}${digest.hex()}"
    assert ExchangeHash.parse(str(value)) == value
    assert is_exchange_hash(str(value))


@given(digests, st.booleans(), st.booleans())
def test_base64_hashes_are_read(digest: bytes, urlsafe: bool, padded: bool) -> None:
    """Services that write the hash in base64, of either alphabet, are understood."""
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    text = encode(digest).decode() if padded else encode(digest).decode().rstrip("=")
    assert ExchangeHash.parse(f"pbkdf2$10000$salt${text}").digest == digest


@pytest.mark.parametrize("salt_encoding", SALT_ENCODINGS)
@given(plain=st.text(max_size=40), other=st.text(max_size=40))
@settings(max_examples=30)
def test_a_created_hash_verifies_its_password_alone(
    salt_encoding: str, plain: str, other: str
) -> None:
    """A new hash survives its own text form and knows its password under every salt encoding."""
    created = ExchangeHash.create(plain, iterations=1, salt_encoding=salt_encoding)
    read = ExchangeHash.parse(str(created), min_iterations=1, salt_encoding=salt_encoding)
    assert read.verify(plain, salt_encoding=salt_encoding)
    assert read.verify(other, salt_encoding=salt_encoding) == (plain == other)


def test_created_salts_hold_128_random_bits() -> None:
    """NIST SP 800-132 asks for 128 bits; each hash has its own, in the agreed spelling."""
    for salt_encoding, shape in (
        ("text", r"[0-9a-f]{32}"),
        ("hex", r"[0-9a-f]{32}"),
        ("base64", r"[A-Za-z0-9+/]{22}=="),
    ):
        created = [
            ExchangeHash.create("x", iterations=1, salt_encoding=salt_encoding) for _ in range(50)
        ]
        assert all(re.fullmatch(shape, one.salt) for one in created)
        assert len({one.salt for one in created}) == 50


def test_new_hashes_have_600_000_iterations() -> None:
    """OWASP's number for PBKDF2-HMAC-SHA256 is the default."""
    assert str(ExchangeHash.create("x")).startswith("pbkdf2$600000$")


MALFORMED = [
    ("", "form pbkdf2"),
    ("correct horse", "plain password"),
    ("$$$", "form pbkdf2"),
    ("pbkdf2", "form pbkdf2"),
    (f"pbkdf2$10000${HEX}", "form pbkdf2"),
    (f"pbkdf2$10000$salt${HEX}$", "form pbkdf2"),
    (f"pbkdf2$10000$sa$lt${HEX}", "form pbkdf2"),
    (f"PBKDF2$10000$salt${HEX}", "form pbkdf2"),
    (f" pbkdf2$10000$salt${HEX}", "form pbkdf2"),
    (f"pbkdf2_sha256$10000$salt${HEX}", "form pbkdf2"),
    (f"pbkdf2:sha256:10000$salt${HEX}", "form pbkdf2"),
    (f"pbkdf2$$salt${HEX}", "whole number"),
    (f"pbkdf2$010000$salt${HEX}", "whole number"),
    (f"pbkdf2$+10000$salt${HEX}", "whole number"),
    (f"pbkdf2$-10000$salt${HEX}", "whole number"),
    (f"pbkdf2$10_000$salt${HEX}", "whole number"),
    (f"pbkdf2$ 10000$salt${HEX}", "whole number"),
    (f"pbkdf2$10000\n$salt${HEX}", "whole number"),
    (f"pbkdf2$1e4$salt${HEX}", "whole number"),
    (f"pbkdf2$\u0666\u0660\u0660\u0660\u0660\u0660$salt${HEX}", "whole number"),
    (f"pbkdf2$\uff11\uff10\uff10\uff10\uff10$salt${HEX}", "whole number"),
    (f"pbkdf2$0$salt${HEX}", "whole number"),
    (f"pbkdf2$9999$salt${HEX}", "from 10000 to 2000000"),
    (f"pbkdf2$2000001$salt${HEX}", "from 10000 to 2000000"),
    (f"pbkdf2${'9' * 5000}$salt${HEX}", "from 10000 to 2000000"),
    (f"pbkdf2$10000$${HEX}", "salt must be"),
    (f"pbkdf2$10000$sa lt${HEX}", "salt must be"),
    (f"pbkdf2$10000$salt\n${HEX}", "salt must be"),
    (f"pbkdf2$10000$sal\0t${HEX}", "salt must be"),
    (f"pbkdf2$10000$sål${HEX}", "salt must be"),
    (f"pbkdf2$10000$\ud800${HEX}", "salt must be"),
    (f"pbkdf2$10000${'s' * 257}${HEX}", "salt must be"),
    ("pbkdf2$10000$salt$", "hash must be"),
    (f"pbkdf2$10000$salt${HEX.upper()}", "hash must be"),
    (f"pbkdf2$10000$salt${HEX[:-2]}", "hash must be"),
    (f"pbkdf2$10000$salt${HEX}00", "hash must be"),
    (f"pbkdf2$10000$salt${HEX}\n", "hash must be"),
    (f"pbkdf2$10000$salt${HEX[:-1]}g", "hash must be"),
    (f"pbkdf2$10000$salt${base64.b64encode(DIGEST[:31]).decode()}", "hash must be"),
    (f"pbkdf2$10000$salt${base64.b64encode(DIGEST).decode()}=", "hash must be"),
    (f"pbkdf2$10000$salt${'+-' * 21}A=", "hash must be"),
    (f"pbkdf2$10000$salt${'A' * 42}B=", "hash must be"),
    (f"pbkdf2$10000$salt${'é' * 43}", "hash must be"),
]


@pytest.mark.parametrize(("text", "reason"), MALFORMED)
def test_a_malformed_hash_is_refused_with_its_reason(text: str, reason: str) -> None:
    """Each fault has a message to act on, which repeats nothing of what was sent."""
    with pytest.raises(ExchangeHashError, match=re.escape(reason)) as refused:
        ExchangeHash.parse(text)
    for part in (text, *text.split("$")[2:]):
        assert len(part) < 8 or part not in str(refused.value)


@given(st.text(st.characters()))
def test_no_other_text_is_accepted(text: str) -> None:
    """Arbitrary text, in any place of the format, is an ExchangeHashError or a valid hash."""
    for candidate in (
        text,
        f"pbkdf2${text}",
        f"pbkdf2$10000$salt${text}",
        f"pbkdf2${text}$s${HEX}",
    ):
        try:
            ExchangeHash.parse(candidate)
        except ExchangeHashError:
            continue
        assert re.fullmatch(r"pbkdf2\$[0-9]+\$[!-~]+\$[A-Za-z0-9+/_=-]+", candidate)


@given(accepted_iterations, st.data())
def test_the_range_of_iterations_is_inclusive(iterations: int, data: st.DataObject) -> None:
    """Limits themselves are accepted, and only what lies between them."""
    lowest = data.draw(st.integers(1, 2_000_000))
    highest = data.draw(st.integers(lowest, 2_000_000))
    text = f"pbkdf2${iterations}$salt${HEX}"
    if lowest <= iterations <= highest:
        parsed = ExchangeHash.parse(text, min_iterations=lowest, max_iterations=highest)
        assert parsed.iterations == iterations
    else:
        with pytest.raises(ExchangeHashError):
            ExchangeHash.parse(text, min_iterations=lowest, max_iterations=highest)


@pytest.mark.parametrize(
    ("salt_encoding", "salt"),
    [("hex", "abc"), ("hex", "xy"), ("base64", "a"), ("base64", "a.b."), ("base64", "AP9")],
)
def test_a_salt_in_another_encoding_is_refused_before_it_locks_somebody_out(
    salt_encoding: str, salt: str
) -> None:
    """Such a hash could match no password: reading says so, checking is simply false."""
    text = f"pbkdf2$10000${salt}${HEX}"
    assert not ExchangeHash.parse(text).verify("x", salt_encoding=salt_encoding)
    with pytest.raises(ExchangeHashError, match=f"not in {salt_encoding}"):
        ExchangeHash.parse(text, salt_encoding=salt_encoding)


def test_an_unknown_salt_encoding_is_a_mistake_of_the_configuration() -> None:
    """It never passes for a wrong password."""
    stored = ExchangeHash.parse(RFC_7914)
    with pytest.raises(ConfigurationError, match="text, hex, base64"):
        stored.verify("Password", salt_encoding="base32")
    with pytest.raises(ConfigurationError, match="text, hex, base64"):
        ExchangeHash.create("Password", salt_encoding="base32")


@pytest.mark.parametrize("plain", ["x" * (MAX_PASSWORD_LENGTH + 1), "half \ud800", "\udfff"])
def test_an_unusable_password_is_refused_or_simply_wrong(plain: str) -> None:
    """Hashing it is a clear ValueError that does not repeat it; checking it is false."""
    with pytest.raises(UnusablePassword) as refused:
        ExchangeHash.create(plain, iterations=1)
    assert isinstance(refused.value, ValueError)
    assert plain not in str(refused.value)
    assert refused.value.__context__ is None
    assert not ExchangeHash.parse(RFC_7914).verify(plain)


@pytest.mark.parametrize(
    ("iterations", "salt", "digest"),
    [(0, "s", DIGEST), (2**31, "s", DIGEST), (1, "", DIGEST), (1, "$", DIGEST), (1, "s", b"x")],
)
def test_an_impossible_value_cannot_be_made(iterations: int, salt: str, digest: bytes) -> None:
    """What parse refuses is refused as well when a hash is put together from parts."""
    with pytest.raises(ExchangeHashError):
        ExchangeHash(iterations, salt, digest)
    if iterations != 1:
        with pytest.raises(ExchangeHashError):
            ExchangeHash.create("x", iterations=iterations)


def test_the_hash_does_not_show_in_a_traceback() -> None:
    """The representation that logs and debuggers print leaves the hash out."""
    stored = ExchangeHash.parse(RFC_7914)
    assert HEX[:8] not in repr(stored)
    assert repr(DIGEST)[2:12] not in repr(stored)


def test_services_can_import_it_without_the_rest() -> None:
    """A consuming service has neither Flask nor our libraries for hashing and signing."""
    source = Path(idsync.crypto.exchange.__file__).parents[2]
    program = (
        "import sys\n"
        "blocked = 'flask', 'sqlalchemy', 'cryptography', 'itsdangerous', 'argon2'\n"
        "sys.modules.update(dict.fromkeys(blocked))\n"
        f"sys.path.insert(0, {str(source)!r})\n"
        "from idsync.crypto.exchange import ExchangeHash\n"
        f"assert ExchangeHash.parse({RFC_7914!r}).verify('Password')\n"
    )
    subprocess.run([sys.executable, "-I", "-W", "error", "-c", program], check=True)

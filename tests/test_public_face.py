"""What `import idsync` gives, and what it does not load."""

import subprocess
import sys

import idsync


def test_every_public_name_can_be_imported() -> None:
    """And nothing else pretends to exist."""
    for name in idsync.__all__:
        found = getattr(idsync, name)
        assert isinstance(found, int) or found.__name__ == name
    assert dir(idsync) == sorted(idsync.__all__)
    assert not hasattr(idsync, "nonsense")


def test_importing_the_package_loads_no_flask() -> None:
    """Names are loaded when first used (PEP 562): consumers need no web framework."""
    code = (
        "import sys\n"
        "sys.modules['flask'] = sys.modules['sqlalchemy'] = sys.modules['authlib'] = None\n"
        "import idsync, idsync.crypto.exchange\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

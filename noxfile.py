"""The commands of this project: `python3 -m nox -s NAME`, or `python3 -m nox -l` to list them."""

from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["tests"]
nox.options.reuse_venv = "yes"

PYPROJECT = nox.project.load_toml("pyproject.toml")
PROJECT = ".[host,metrics,consumer]"
CONSTRAINTS = ".ci/constraints.txt"
# A process for each core; each test process has databases of its own.
PARALLEL = ("--numprocesses=auto", "--dist=worksteal")


def group(*names: str) -> list[str]:
    """The requirements of these dependency groups."""
    return list(nox.project.dependency_groups(PYPROJECT, *names))


def install(session: nox.Session, *requirements: str) -> None:
    """Install these requirements in the versions that were tested."""
    session.install("--constraint", CONSTRAINTS, *requirements)


@nox.session
def tests(session: nox.Session) -> None:
    """What every change must pass."""
    install(session, "--editable", PROJECT, *group("test"))
    session.run("pytest", *PARALLEL, *session.posargs)


@nox.session
def lowest(session: nox.Session) -> None:
    """The same tests on the lowest versions that pyproject.toml allows."""
    session.install("uv")
    session.run_install(
        "uv", "pip", "install", "--resolution=lowest-direct",
        "--editable", PROJECT, *group("test"),
    )  # fmt: skip
    session.run("pytest", *PARALLEL, *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """The guide for an existing site, followed with the built wheel and no source tree."""
    folder = Path(session.create_tmp()).resolve()
    install(session, "--editable", PROJECT, *group("test"))
    session.run("python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), ".")
    built = max(folder.glob("idsync-*.whl"), key=lambda file: file.stat().st_mtime)
    site = folder / "site"
    session.run("python", "-m", "venv", "--clear", str(site))
    python = str(site / "bin" / "python")
    session.run(
        python, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS,
        str(built), "flask-migrate", "gunicorn", "psycopg[binary]", external=True,
    )  # fmt: skip
    # What is in the wheel does not depend on the database; `tests` follows the guide on both.
    session.run(
        "pytest", "tests/existing_site/test_following_the_guide.py", "-k", "sqlite",
        *session.posargs, env={"IDSYNC_SITE_PYTHON": python},
    )  # fmt: skip


@nox.session
def lint(session: nox.Session) -> None:
    """Style, formatting, and which part may import which."""
    install(session, *group("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports", env={"PYTHONPATH": "src"})


@nox.session
def types(session: nox.Session) -> None:
    """Static types of the library."""
    install(session, "--editable", PROJECT, *group("types"))
    session.run("mypy", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation as HTML, in .nox/docs/tmp/html; a link that leads nowhere is a failure."""
    install(session, "--editable", PROJECT, *group("docs"))
    folder = Path(session.create_tmp()).resolve()
    session.run(
        "sphinx-build", "--builder=html", "--fail-on-warning", "--keep-going", "--nitpicky",
        "--fresh-env", "--quiet", "docs", str(folder / "html"),
    )  # fmt: skip
    session.log(f"Read it at {(folder / 'html' / 'index.html').as_uri()}")


@nox.session
def pictures(session: nox.Session) -> None:
    """Take the pictures of the documentation anew; look at them before they are committed."""
    install(session, "--editable", PROJECT, *group("test", "pictures"))
    session.run("python", "-m", "browser.pictures", env={"PYTHONPATH": "tests:."})


@nox.session
def browser(session: nox.Session) -> None:
    """Tests that drive Chromium, which must be installed together with its driver."""
    install(session, "--editable", PROJECT, *group("test"))
    session.run("pytest", "-m", "browser", *PARALLEL, *session.posargs)


@nox.session
def proof(session: nox.Session) -> None:
    """The long ones: races, state machines, killed processes."""
    install(session, "--editable", PROJECT, *group("test"))
    session.run("pytest", "-m", "proof", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measurements; their output is shown."""
    install(session, "--editable", PROJECT, *group("test"))
    session.run("pytest", "-m", "bench", "--capture=no", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """An identity service on :8000 and a service that signs in with it on :8001, until Ctrl-C."""
    install(session, "--editable", PROJECT)
    # In seconds: the demo stops its servers itself after Ctrl-C.
    session.run(
        "python", "-m", "host_app.demo", *session.posargs,
        interrupt_timeout=10, terminate_timeout=5,
    )  # fmt: skip


@nox.session(reuse_venv=False)
def pin(session: nox.Session) -> None:
    """Rewrite the constraints with the newest versions that fit together."""
    session.install("--editable", PROJECT, *group(*PYPROJECT["dependency-groups"]))
    frozen = session.run(
        "python", "-m", "pip", "freeze", "--exclude-editable", silent=True, stderr=None
    )
    Path(CONSTRAINTS).write_text(
        f"# Written by `nox -s pin`: the versions that were tested together.\n{frozen.strip()}\n",
        encoding="utf-8",
    )

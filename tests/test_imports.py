"""Modules are imported only when they are used."""

from __future__ import annotations

import pytest

import jelly_plugins
from jelly_plugins import errors

from .programs import run

_MODULES = "\nimport sys; print(*(name for name in sys.modules if name.startswith(sys.argv[1])))"


def imported(program: str, prefix: str) -> set[str]:
    """Return the modules with a prefix that a program imports."""
    done = run(program + _MODULES, prefix)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_package_alone_imports_nothing() -> None:
    assert imported("import jelly_plugins", "jelly_plugins") == {
        "jelly_plugins",
        "jelly_plugins.lazy",
    }


def test_the_console_script_imports_little_at_startup() -> None:
    found = imported("from jelly_plugins.cli import main", "jelly_plugins")
    assert found == {"jelly_plugins", "jelly_plugins.lazy", "jelly_plugins.cli"}


def test_the_plugins_are_imported_when_they_are_used() -> None:
    found = imported("import jelly_plugins.rdflib", "jelly_plugins")
    assert "jelly_plugins.codec" not in found
    assert len(found) < 10


def test_oxigraph_imports_what_is_used() -> None:
    found = imported("import jelly_plugins.oxigraph", "jelly_plugins")
    assert "jelly_plugins.codec" not in found
    found = imported("from jelly_plugins.oxigraph import load", "jelly_plugins")
    assert found.isdisjoint({"jelly_plugins.patch.undoing", "jelly_plugins.sparql"})


def test_the_version_needs_no_libraries() -> None:
    program = "import sys; argv = sys.argv; sys.argv = ['jelly', '--version']\n"
    program += "from jelly_plugins.cli import main; main()\nsys.argv = argv\n"
    libraries = {name.partition(".")[0] for name in imported(program, "")}
    assert libraries.isdisjoint({"click", "rich", "rdflib", "pyoxigraph"})


@pytest.mark.parametrize("command", ["convert", "load", "validate", "publish", "patch apply"])
def test_the_help_of_a_command_imports_no_backend(command: str) -> None:
    program = f"import sys; argv = sys.argv; sys.argv = ['jelly', *{command.split()}, '--help']\n"
    program += "from jelly_plugins.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    done = run(f"{program}sys.argv = argv{_MODULES}", "")
    modules = set(done.stdout.splitlines()[-1].split())
    assert modules.isdisjoint({"rdflib", "pyoxigraph", "pyspark", "pyarrow", "grpc"}), done.stderr


def test_loading_imports_no_other_backend() -> None:
    found = imported("from jelly_plugins.oxigraph import load", "")
    unused = {"rdflib", "pyarrow", "grpc", "click", "importlib.metadata", "ssl", "http.client"}
    assert found.isdisjoint(unused)


def test_every_public_name_exists() -> None:
    for name in jelly_plugins.__all__:
        assert getattr(jelly_plugins, name) is not None
        assert name in dir(jelly_plugins)
    assert jelly_plugins.JellyError is errors.JellyError

"""Modules are imported only when they are used."""

from __future__ import annotations

import pytest

import jelly_plugins
from jelly_plugins import errors
from jelly_plugins.backends import get_backend

from .programs import run

_MODULES = "\nimport sys; print(*(name for name in sys.modules if name.startswith(sys.argv[1])))"


def imported(program: str, prefix: str) -> set[str]:
    """Return the modules with a prefix that a program imports."""
    done = run(program + _MODULES, prefix)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("program", "more"),
    [("import jelly_plugins", []), ("from jelly_plugins.cli import main", ["jelly_plugins.cli"])],
)
def test_the_package_and_the_command_import_nothing_at_first(program: str, more: list[str]) -> None:
    assert imported(program, "jelly_plugins") == {"jelly_plugins", "jelly_plugins.lazy", *more}


def test_the_plugins_are_imported_when_they_are_used() -> None:
    found = imported("import jelly_plugins.rdflib", "jelly_plugins")
    assert "jelly_plugins.codec" not in found
    assert len(found) < 10


def test_oxigraph_imports_what_is_used() -> None:
    found = imported("import jelly_plugins.oxigraph", "jelly_plugins")
    assert "jelly_plugins.codec" not in found
    found = imported("from jelly_plugins.oxigraph import load", "jelly_plugins")
    assert found.isdisjoint({"jelly_plugins.patch.undoing", "jelly_plugins.sparql"})


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        ("--version", "jelly_plugins.codec.rdf rich"),
        ("--help", "jelly_plugins.codec.rdf"),
        ("convert --help", "jelly_plugins.formats.convert jelly_plugins.messages.text"),
        ("validate --help", "jelly_plugins.formats.convert jelly_plugins.tools.compare"),
        ("patch --help", "jelly_plugins.patch.reader jelly_plugins.patch.writer"),
        *((f"{name} --help", "") for name in ("load", "publish", "serve", "patch apply")),
    ],
)
def test_the_version_and_the_help_import_little(arguments: str, unused: str) -> None:
    program = f"import sys; argv = sys.argv; sys.argv = ['jelly', *{arguments.split()}]\n"
    program += "from jelly_plugins.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    done = run(f"{program}sys.argv = argv{_MODULES}", "")
    modules = set(done.stdout.splitlines()[-1].split())
    backends = ("rdflib", "pyoxigraph", "pyspark", "pyarrow", "grpc")
    assert modules.isdisjoint({*backends, *unused.split()}), done.stderr


def test_loading_imports_no_other_backend() -> None:
    found = imported("from jelly_plugins.oxigraph import load", "")
    unused = {"rdflib", "pyarrow", "grpc", "click", "importlib.metadata", "ssl", "http.client"}
    assert found.isdisjoint(unused)


def test_every_public_name_exists() -> None:
    for name in jelly_plugins.__all__:
        assert getattr(jelly_plugins, name) is not None
        assert name in dir(jelly_plugins)
    assert jelly_plugins.JellyError is errors.JellyError


def test_an_unknown_backend_is_named() -> None:
    with pytest.raises(ValueError, match="'rdflb' is not one of the backends oxigraph, rdflib"):
        get_backend("rdflb")


@pytest.mark.parametrize(
    ("library", "extra", "program"),
    [
        ("rdflib", "rdflib", "import jelly_plugins.rdflib"),
        ("rdflib", "rdflib", "import jelly_plugins.backends as it; it.get_backend('rdflib')"),
        ("pyarrow", "arrow", "import jelly_plugins.arrow"),
        ("grpc", "grpc", "import jelly_plugins.grpc"),
        ("pyspark", "spark", "from jelly_plugins.spark import session"),
    ],
)
def test_the_error_without_a_library_names_the_extra(
    library: str, extra: str, program: str
) -> None:
    done = run(f"import sys; sys.modules[{library!r}] = None\n{program}")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("jelly_plugins.errors.MissingExtraError: ")
    assert f"pip install 'jelly-plugins[{extra}]'" in last

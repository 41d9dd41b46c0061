"""Where another package claims the name ``jelly`` too: who is reported what."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import rdflib.plugin
import rdflib.util
from rdflib.parser import Parser
from rdflib.serializer import Serializer

from jelly_plugins.rdflib.plugin import registration
from jelly_plugins.rdflib.plugin.parser import JellyParser

from .support import sample_graph, to_bytes


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins of rdflib that a test may change, before any warning."""
    monkeypatch.setattr(rdflib.plugin, "_plugins", dict(rdflib.plugin._plugins))
    monkeypatch.setattr(registration._OthersPlugin, "warned", False)


def register(value: str) -> None:
    """Have rdflib know an entry point as ``jelly``."""
    for kind, group in ((Parser, "rdf.plugins.parser"), (Serializer, "rdf.plugins.serializer")):
        rdflib.plugin._plugins["jelly", kind] = rdflib.plugin.PKGPlugin(
            "jelly", kind, EntryPoint("jelly", value, group)
        )


def test_the_remedy_is_named_once_and_to_whoever_asked() -> None:
    register("rdflib.plugins.parsers.ntriples:NTParser")
    registration.warn_of_others()
    graph = rdflib.Graph()
    with pytest.warns(
        UserWarning, match=r"rdflib.*jelly_plugins\.rdflib\.register\(\)"
    ) as reported:
        graph.parse(data=b"<urn:s> <urn:p> <urn:o> .", format="jelly")
    assert [each.filename for each in reported] == [__file__]
    assert len(graph) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph.parse(data=b"<urn:s> <urn:p> <urn:o> .", format="jelly")
        rdflib.plugin.get("jelly", Serializer)
        registration.register()
        assert rdflib.plugin.get("jelly", Parser) is JellyParser


def test_nothing_is_said_where_nobody_else_claims_the_name() -> None:
    register("jelly_plugins.rdflib.plugin.parser:JellyParser")
    rdflib.plugin.register("application/x-jelly-rdf", Parser, "somebodys.own", "Choice")
    before: dict[Any, Any] = dict(rdflib.plugin._plugins)
    registration.warn_of_others()
    changed = {name for name, each in rdflib.plugin._plugins.items() if before[name] is not each}
    assert all(name == "application/x-jelly-rdf" and kind is Serializer for name, kind in changed)


@pytest.mark.parametrize("claimed", ["jelly", None])
def test_endings_are_served_by_one_package(
    claimed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    endings = {"jelly": claimed} if claimed else {}
    monkeypatch.setattr(rdflib.util, "SUFFIX_FORMAT_MAP", endings)
    registration.register_suffixes()
    assert {rdflib.util.guess_format(name) for name in ("x.jelly", "x.jelly.gz")} == {
        "jelly-plugins"
    }


def test_beside_pyjelly(tmp_path: Path) -> None:
    pytest.importorskip("pyjelly")
    path = tmp_path / "x.jelly"
    path.write_bytes(to_bytes(sample_graph()))
    program = (
        "import sys, warnings, pyjelly.integrations.rdflib, jelly_plugins.rdflib, rdflib\n"
        "from rdflib.parser import Parser\n"
        "warnings.simplefilter('error')\n"
        "assert len(rdflib.Graph().parse(sys.argv[1])) == int(sys.argv[2])\n"
        "warnings.simplefilter('always')\n"
        "print(rdflib.plugin.get('jelly', Parser).__module__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(len(sample_graph()))],
        capture_output=True,
        text=True,
        check=True,
    )
    served_by_others = not done.stdout.startswith("jelly_plugins")
    assert done.stderr.count("UserWarning") == served_by_others
    assert done.stderr.count("jelly_plugins.rdflib.register()") == served_by_others

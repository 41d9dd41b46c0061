"""Who serves which name: entry points, file endings, living beside pyjelly."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
import rdflib.plugin
import rdflib.util

import jelly_plugins.rdflib
from jelly_plugins.rdflib import NAMES
from jelly_plugins.rdflib.reading import JellyParser
from jelly_plugins.rdflib.writing import JellySerializer

from .. import programs


def run(code: str, *arguments: str) -> str:
    """What a program prints, in a process of its own."""
    result = programs.run(code, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize("name", NAMES)
def test_entry_points_name_the_plugins(name: str) -> None:
    for group, expected in (
        ("rdf.plugins.parser", JellyParser),
        ("rdf.plugins.serializer", JellySerializer),
    ):
        entries = entry_points(group=group, name=name)
        found = [entry.load() for entry in entries if entry.value.startswith("jelly_plugins.")]
        assert set(found) == {expected}


def test_importing_rdflib_does_not_import_this_package() -> None:
    assert run("import sys, rdflib; print('jelly_plugins' in sys.modules)") == "False"


def test_suffixes_that_are_taken_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    endings = {"gz": "mine", "ttl": "turtle"}
    monkeypatch.setattr(rdflib.util, "SUFFIX_FORMAT_MAP", endings)
    jelly_plugins.rdflib.register_suffixes()
    assert endings == {
        "gz": "mine",
        "ttl": "turtle",
        "jelly": "jelly-plugins",
        "bz2": "jelly-plugins",
        "zst": "jelly-plugins",
        "rt": "rdf-thrift",
        "trdf": "rdf-thrift",
        "rpb": "rdf-protobuf",
        "pbrdf": "rdf-protobuf",
    }


BESIDE = """
import sys
{imports}
from rdflib import Graph, plugin
from rdflib.parser import Parser
from rdflib.serializer import Serializer

graph = Graph().parse(data="<urn:s> <urn:p> <urn:o> .", format="turtle")

def classes():
    return {{
        plugin.get(name, kind).__module__.partition(".")[0]
        for name in ("jelly", "application/x-jelly-rdf")
        for kind in (Parser, Serializer)
    }}

assert len(classes()) == 1, classes()
{call}
print(*classes())
for ours_writes in (True, False):
    writer, reader = ("jelly-plugins", "jelly") if ours_writes else ("jelly", "jelly-plugins")
    data = graph.serialize(format=writer, encoding="utf-8")
    assert set(Graph().parse(data=data, format=reader)) == set(graph)
from pyjelly.integrations.rdflib.parse import parse_jelly_flat
import io
assert len(list(parse_jelly_flat(io.BytesIO(data)))) == 1
"""


@pytest.mark.parametrize("activate", ["before", "after", "never"])
@pytest.mark.parametrize("first", ["pyjelly", "ours"])
def test_beside_pyjelly_in_either_order(first: str, activate: str) -> None:
    pytest.importorskip("pyjelly")
    imports = ["import pyjelly.integrations.rdflib", "import jelly_plugins.rdflib"]
    if first == "ours":
        imports.reverse()
    call = "jelly_plugins.rdflib.register()"
    if activate == "before":
        at = imports.index("import jelly_plugins.rdflib") + 1
        imports.insert(at, call)
    served = run(
        BESIDE.format(imports="\n".join(imports), call=call if activate == "after" else "")
    )
    if activate == "never":
        assert served in ("pyjelly", "jelly_plugins")
    else:
        assert served == "jelly_plugins"

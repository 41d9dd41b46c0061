"""The last line of a traceback says all, and no other exception is chained to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from traceback import format_exception

import pytest
from pyoxigraph import Store
from rdflib import Graph

from jelly_plugins import Iri, JellyError, Triple, read, write
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph import load
from jelly_plugins.rdflib import load as load_graph

S, P = Iri("urn:s"), Iri("urn:p")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: list(read("a.ttl")), "a.ttl: this is text, not Jelly"),
        (lambda: load_graph(Graph(), "a.jelly", format="nt"), "a.jelly: this is Jelly-RDF, not nt"),
        (lambda: list(read("no.jelly")), "no.jelly: No such file or directory"),
        (lambda: load(Store(), "cut.jelly"), "cut.jelly: frame 0: the input ends inside a frame"),
        (
            lambda: load(Store(), write_bytes([Triple(Iri("urn:a b"), P, P)])),
            "Oxigraph rejects the IRI 'urn:a b': Invalid IRI code point ' '",
        ),
        (
            lambda: load_graph(Graph(), b"<urn:a b> <urn:p> 1 .", format="nt"),
            "line 1, column 1: no subject can be read here: an IRI ends with '>' and has no spaces",
        ),
        (lambda: load("store", "a.jelly"), "a pyoxigraph.Store is needed, not 'store'"),  # type: ignore[arg-type]
    ],
)
def test_the_last_line_is_complete(
    call: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.ttl").write_text("@prefix : <urn:> . :s :p :o .\n")
    write([Triple(S, P, S)], "a.jelly")
    Path("cut.jelly").write_bytes(Path("a.jelly").read_bytes()[:-3])
    with pytest.raises((JellyError, TypeError)) as caught:
        call()
    lines = "".join(format_exception(caught.value)).splitlines()
    assert message in lines[-1]
    assert sum(line.startswith("Traceback") for line in lines) == 1

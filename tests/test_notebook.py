"""Displays in notebooks are small and escaped and read nothing; errors are short."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
from pyoxigraph import Store
from rdflib import Graph

from jelly_plugins import (
    FrameReader,
    Iri,
    JellyError,
    Literal,
    Triple,
    read,
    read_frames,
    write,
)
from jelly_plugins.backends import get_backend
from jelly_plugins.formats.settings import Conversion
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph import load
from jelly_plugins.patch import BEGIN, COMMIT, Patch, PatchReader, add, check, read_patches
from jelly_plugins.patch.replay.positions import Position
from jelly_plugins.patch.replay.replay import Replayed
from jelly_plugins.rdflib import load as load_graph

S, P = Iri("urn:s"), Iri("urn:p")


class Page(HTMLParser):
    """The cells of a table; other elements are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("table", "caption", "tr", "th", "td"), tag
        assert dict(attrs) in ({}, {"colspan": "2"})
        if tag in ("caption", "th", "td"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def shown(value: Any) -> list[str]:
    text = value._repr_html_()
    assert len(text) < 30_000
    text.encode()
    return Page(text).cells


def test_a_patch() -> None:
    statement = Triple(S, P, Literal("<b>&", langtag="en"))
    patch = Patch(
        [BEGIN, add(statement), COMMIT], [("id", S), ("label", Literal("x", None, "u:d"))]
    )
    assert shown(patch) == [
        "Patch of 3 operations",
        *("H id", "<urn:s>"),
        *("H label", '"x"^^<u:d>'),
        *("TX", ""),
        *("A", '<urn:s> <urn:p> "<b>&"@en'),
        *("TC", ""),
    ]


def test_a_large_patch() -> None:
    quoted: Any = Literal("<" * 10_000_000)
    for _ in range(200):
        quoted = Triple(S, P, quoted)
        quoted = Triple(quoted, P, quoted)
    patch = Patch([add(Triple(S, P, quoted))] * 1_000_000)
    cells = shown(patch)
    assert cells[0] == "Patch of 1,000,000 operations"
    assert cells[-1] == "and 999,980 more operations"
    assert len(cells) == 2 + 2 * 20
    assert shown(Patch([add(Triple(S, P, Literal("\ud800")))]))[-1].endswith('"?"')


def test_a_frame() -> None:
    statements = [Triple(S, P, Literal(f"<{n}>")) for n in range(30)]
    frame = next(read_frames(write_bytes(statements, namespaces={"x": "urn:"})))
    cells = shown(frame)
    assert cells[:5] == ["Frame 0: 30 statements", "namespaces", "x: <urn:>", "0", cells[4]]
    assert cells[4] == '<urn:s> <urn:p> "<0>"'
    assert cells[-1] == "and 10 more statements"
    for terms in ("rdflib", "oxigraph"):
        backend = get_backend(terms)
        [frame] = FrameReader(write_bytes(statements[:1]), factory=backend.factory())
        assert "<0>" in shown(frame)[-1]


def test_displays_read_nothing_of_streams() -> None:
    log = b"H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n"
    [patch] = read_patches(log)
    for patch in read_patches(log):
        assert shown(patch) == ["Patch, streaming", "H id", "<urn:1>"]
        assert len(patch.operations) == 3
    rows = PatchReader(log)
    assert shown(rows)[:3] == ["PatchReader", "source", "<bytes>"]
    assert len(list(rows)) == 5
    assert "rdfp" in shown(rows)


@pytest.mark.parametrize(
    "report",
    [
        Replayed(position=Position(log="l", patch="p", transactions=1, complete=True)),
        check(b"A <urn:s> <urn:p> <urn:o> . Z . H id <urn:1> . Z ."),
        Conversion(statements=1234, left_out={"<i>": 1}),
    ],
)
def test_reports(report: Any) -> None:
    cells = shown(report)
    assert cells[0] == type(report).__name__
    assert len(cells) > 2


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
def test_the_last_line_of_a_traceback_is_complete(
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

"""Decoders do not use the bytes of frames and chunks of text after reading them, although later
ones may depend on the contents.

Each is made for one call; then its memory is reused, so that code that still reads it reads other
bytes. A special build of the kernel detects this at once, see tests/fuzz/README.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jelly_plugins.codec import GenericFactory
from jelly_plugins.codec.patch.columns import PatchColumnDecoder
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.codec.text.transcoding import TextDecoder
from jelly_plugins.errors import JellyError

from .. import programs
from ..fuzz.comparison import native, native_of
from ..ntriples import WholeTexts
from . import patch_wire as p
from . import wire_builder as w

#: Too long for caches, and in memory blocks that are returned to the system.
LONG = 300_000

XSD = "http://www.w3.org/2001/XMLSchema#"


class Rejecting(GenericFactory):
    """Accepts ``taken`` statements, then rejects the next one with an error that shows it. The
    reference calls it for every statement, the kernel only for unusual ones.
    """

    def __init__(self, taken: int) -> None:
        self.left = taken

    def triple(self, terms: Any) -> Any:  # type: ignore[override]
        self.left -= 1
        if self.left < 0:
            raise ValueError(repr(terms))
        return terms

    def quad(self, terms: Any) -> Any:  # type: ignore[override]
        return self.triple(terms)


class TextRejecting(WholeTexts):
    """The same for columns, whose validator makes texts."""

    def __init__(self, taken: int) -> None:
        super().__init__(Notation.RDF_STAR)
        self.left = taken

    triple = Rejecting.triple
    quad = Rejecting.quad


def error_of(decoder: Any, frames: list[Callable[[], bytes]]) -> tuple[Any, ...]:
    """Return the error that a stream ends with."""
    with pytest.raises(JellyError) as caught:
        decode(decoder, frames)
    error = caught.value
    return type(error), error.frame, error.row, error.message


def decode(decoder: Any, frames: list[Callable[[], bytes]]) -> None:
    kept = []
    for make in frames:
        data = make()
        size = len(data)
        chunks = decoder.decode(data)
        del data
        list(chunks)
        del chunks
        kept.append([b"\xdd" * size for _ in range(20)])


def terms(size: int) -> dict[str, Callable[[], w.WireTerm]]:
    """Return functions, each of which makes a new term with this much text."""
    text = "ab" * (size // 2)
    return {
        "label": lambda: w.bnode(text),
        "odd label": lambda: w.bnode(text + " b"),
        "literal": lambda: w.literal(text + '\n"\\\ufffe'),
        "language": lambda: w.literal(text, lang="en"),
        "datatype": lambda: w.literal(text, datatype=1),
        "quoted": lambda: w.quoted(
            w.bnode(text), w.iri(name=1), w.quoted(w.iri(name=2), w.iri(name=3), w.literal(text))
        ),
    }


KINDS = list(terms(0))
SIZES = [40, 400, 5000, LONG]
SPO = (w.iri(name=1), w.iri(name=2), w.iri(name=3))
#: The next statement repeats the terms, and RDF 1.2 does not allow its predicate.
FOLLOWING = w.frame(w.triple(p=w.bnode("b")))


def entries(w: Any) -> list[bytes]:
    return [*w.SPO, w.datatype(f"{XSD}decimal")]


def statement(term: w.WireTerm, order: str) -> bytes:
    """A term as object. If the terms are in the order of their positions, they are written straight
    from the frame; otherwise they are read first.
    """
    parts = {"s": SPO[0], "p": SPO[1], "o": term}
    row = w.triple(**{each: parts[each] for each in order})
    return w.frame(w.options(generalized=True, star=True), *entries(w), row)


def graph(name: w.WireTerm, physical: int) -> bytes:
    rows = [w.quad(*SPO, name)] if physical == w.QUADS else [w.graph_start(name), w.triple(*SPO)]
    return w.frame(w.options(physical, generalized=True), *entries(w), *rows)


def patch(row: bytes, statements: int) -> bytes:
    options = p.options(p.PUNCTUATED, statements, generalized=True, star=True)
    return p.frame(options, *entries(p), row)


#: By place of the term: its kinds, and functions that make the first frame and the next one.
PLACES: dict[str, tuple[list[str], Callable[[w.WireTerm], bytes], bytes]] = {
    "object": (KINDS, lambda term: statement(term, "spo"), FOLLOWING),
    "object first": (KINDS, lambda term: statement(term, "osp"), FOLLOWING),
    "graph of a quad": (KINDS[:2], lambda term: graph(term, w.QUADS), w.frame(w.quad(p=w.bnode()))),
    "graph": (KINDS[:2], lambda term: graph(term, w.GRAPHS), FOLLOWING),
    "object of a patch": (
        KINDS,
        lambda term: patch(p.add(*SPO[:2], term), p.TRIPLES),
        p.frame(p.delete(None, w.bnode("b"))),
    ),
    "graph of a namespace": (
        KINDS[:2],
        lambda term: patch(p.namespace_add("n", SPO[0], term), p.QUADS),
        p.frame(p.add(SPO[0], w.bnode("b"), SPO[2])),
    ),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("place", "kind"), [(place, kind) for place, (kinds, *_) in PLACES.items() for kind in kinds]
)
def test_a_validator_checks_terms_of_an_earlier_frame(place: str, kind: str, size: int) -> None:
    _, make, following = PLACES[place]
    term = terms(size)[kind]
    frames = [lambda: make(term()), lambda: bytes(bytearray(following))]
    of_patch = place in ("object of a patch", "graph of a namespace")
    rejecting = TextRejecting if of_patch else Rejecting
    reference = PatchColumnDecoder if of_patch else TextDecoder
    # Of a namespace, the first statement is the invalid one.
    taken = int(place != "graph of a namespace")
    found = error_of(native_of(reference)(validator=rejecting(0)), frames)
    assert found == error_of(reference(validator=rejecting(taken)), frames)


def test_a_datatype_that_cannot_be_read_is_not_that_of_an_earlier_chunk() -> None:
    """Runs in a separate process, in which the memory of the first chunk was returned to the
    system. The datatype is as long as xsd:string, with which the kernel compared it.
    """
    native()
    done = programs.run(
        """
import sys
from jelly_plugins.codec import StreamOptions
from jelly_plugins.codec._native import TextEncoder
from jelly_plugins.errors import TextError

encoder = TextEncoder(StreamOptions())
line = f'<urn:s> <urn:p> "x"^^<{sys.argv[1]}> .\\n'.encode()
encoder.feed(line * 80_000)
try:
    encoder.feed(b'<urn:s> <urn:p> "x"^^bad .\\n')
except TextError as error:
    print(error)
""",
        XSD + "double",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "line 80001, column 20: the statement does not end here with a '.'\n"

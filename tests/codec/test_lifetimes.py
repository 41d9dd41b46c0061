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
from ..fuzz.comparison import native
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

    def triple(self, terms: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ValueError(repr(terms))
        return terms

    def quad(self, terms: Any) -> Any:
        return self.triple(terms)


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


def entries(w: Any) -> list[bytes]:
    return [*w.SPO, w.datatype(f"{XSD}decimal")]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["spo", "osp"])
def test_a_validator_checks_terms_of_an_earlier_frame(kind: str, size: int, order: str) -> None:
    """A statement that RDF 1.2 does not allow repeats its object. If the terms are in the order of
    their positions, they are written straight from the frame; otherwise they are read first.
    """
    term = terms(size)[kind]

    def first() -> bytes:
        parts = {"s": w.iri(name=1), "p": w.iri(name=2), "o": term()}
        options = w.options(generalized=True, star=True)
        return w.frame(options, *entries(w), w.triple(**{each: parts[each] for each in order}))

    frames = [first, lambda: w.frame(w.triple(p=w.bnode("b")))]
    found = error_of(native().TextDecoder(validator=Rejecting(0)), frames)
    assert found == error_of(TextDecoder(validator=Rejecting(1)), frames)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["label", "odd label"])
@pytest.mark.parametrize("physical", [w.QUADS, w.GRAPHS], ids=["quads", "graphs"])
def test_a_validator_checks_a_graph_of_an_earlier_frame(
    kind: str, size: int, physical: int
) -> None:
    name = terms(size)[kind]
    spo = (w.iri(name=1), w.iri(name=2), w.iri(name=3))
    options = w.options(physical, generalized=True)
    if physical == w.QUADS:
        frames = [
            lambda: w.frame(options, *entries(w), w.quad(*spo, name())),
            lambda: w.frame(w.quad(p=w.bnode("b"))),
        ]
    else:
        frames = [
            lambda: w.frame(options, *entries(w), w.graph_start(name()), w.triple(*spo)),
            lambda: w.frame(w.triple(p=w.bnode("b"))),
        ]
    found = error_of(native().TextDecoder(validator=Rejecting(0)), frames)
    assert found == error_of(TextDecoder(validator=Rejecting(1)), frames)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_patches_validate_terms_of_an_earlier_frame(kind: str, size: int) -> None:
    term = terms(size)[kind]
    options = p.options(p.PUNCTUATED, generalized=True, star=True)
    frames = [
        lambda: p.frame(options, *entries(p), p.add(w.iri(name=1), w.iri(name=2), term())),
        lambda: p.frame(p.delete(None, w.bnode("b"))),
    ]
    found = error_of(native().PatchColumnDecoder(validator=TextRejecting(0)), frames)
    assert found == error_of(PatchColumnDecoder(validator=TextRejecting(1)), frames)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["label", "odd label"])
def test_columns_of_patches_validate_the_graph_of_an_earlier_namespace(
    kind: str, size: int
) -> None:
    name = terms(size)[kind]
    options = p.options(p.PUNCTUATED, p.QUADS, generalized=True)
    frames = [
        lambda: p.frame(options, *entries(p), p.namespace_add("n", w.iri(name=1), name())),
        lambda: p.frame(p.add(w.iri(name=1), w.bnode("b"), w.iri(name=3))),
    ]
    found = error_of(native().PatchColumnDecoder(validator=TextRejecting(0)), frames)
    assert found == error_of(PatchColumnDecoder(validator=TextRejecting(0)), frames)


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

"""If several things are wrong, both kernels report the first in the order of the stream, with the
same row and message.
"""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins.codec import DEFAULT_LIMITS, Limits
from jelly_plugins.errors import JellyError, LimitError
from jelly_plugins.oxigraph.rows import RowFactory
from jelly_plugins.oxigraph.terms import OxigraphFactory

from . import patch_wire as p
from . import wire_builder as w
from .conftest import Kernel

#: Lookup entries; the fourth name is an IRI without a scheme.
NAMES = ("urn:s", "urn:p", "urn:o", "relative")
S, P, OBJECT, RELATIVE = (w.iri(name=number + 1) for number in range(4))
BLANK = w.bnode("b")
#: A statement of a patch or of triples, and a quad.
MALFORMED = w.row(2, b"\x0a\xff")
MALFORMED_QUAD = w.row(3, b"\x0a\xff")
DOUBLE = "http://www.w3.org/2001/XMLSchema#double"

NO_SCHEME = "Oxigraph rejects the IRI 'relative': No scheme found in an absolute IRI"
NOT_QUOTED = "Oxigraph cannot hold a blank node as predicate of a quoted triple"
NOT_HELD = "Oxigraph cannot hold a blank node as predicate"
CUT = "a number ends after its message"

#: Terms of the statements, in order; the number of the first invalid one; and its error. None is a
#: malformed row.
STATEMENTS: dict[str, tuple[list[tuple[w.WireTerm, ...] | None], int, str]] = {
    "a term, then a quoted triple": ([(RELATIVE, P, w.quoted(S, BLANK, OBJECT), S)], 0, NO_SCHEME),
    "a quoted triple, then a term": ([(S, P, w.quoted(S, BLANK, OBJECT), RELATIVE)], 0, NOT_QUOTED),
    "a term inside a quoted triple": ([(S, P, w.quoted(S, BLANK, RELATIVE), S)], 0, NO_SCHEME),
    "inside and outside": ([(w.quoted(S, BLANK, OBJECT), RELATIVE, OBJECT, S)], 0, NOT_QUOTED),
    "a quoted triple in another": (
        [(S, P, w.quoted(S, BLANK, w.quoted(S, BLANK, RELATIVE)), RELATIVE)],
        0,
        NO_SCHEME,
    ),
    "a good one in a bad one": (
        [(S, P, w.quoted(w.quoted(S, P, OBJECT), P, w.quoted(S, P, OBJECT)), RELATIVE)],
        0,
        "Oxigraph cannot hold a quoted triple as subject of a quoted triple",
    ),
    "a statement, then a term": ([(S, BLANK, OBJECT, S), (RELATIVE, P, OBJECT, S)], 0, NOT_HELD),
    "a term, then a statement": ([(S, P, RELATIVE, S), (S, BLANK, OBJECT, S)], 0, NO_SCHEME),
    "a quoted triple, then a row": ([(S, P, w.quoted(S, BLANK, OBJECT), S), None], 0, NOT_QUOTED),
    "a row, then a statement": ([(S, P, OBJECT, S), None, (S, BLANK, OBJECT, S)], 1, CUT),
    "after good ones": (
        [*[(S, P, OBJECT, S), (BLANK, P, OBJECT, S)] * 9, (S, BLANK, OBJECT, S)],
        18,
        NOT_HELD,
    ),
}


def error_of(decoder: Any, frame: bytes) -> tuple[Any, ...]:
    with pytest.raises(JellyError) as caught:
        list(decoder.decode(frame))
    error = caught.value
    return type(error), error.frame, error.row, error.message


def text_decoder(kernel: Kernel) -> Any:
    return kernel.TextDecoder(validator=OxigraphFactory(blank_nodes="keep"))


def patch_decoder(kernel: Kernel, limits: Limits = DEFAULT_LIMITS) -> Any:
    return kernel.PatchColumnDecoder(validator=RowFactory(), limits=limits)


@pytest.mark.parametrize("patch", [False, True], ids=["text", "patch"])
@pytest.mark.parametrize("case", STATEMENTS)
def test_the_first_invalid_term_or_statement(kernel: Kernel, case: str, patch: bool) -> None:
    rows, number, message = STATEMENTS[case]
    declared = {"generalized": True, "star": True}
    if patch:
        before = [p.options(p.FRAME, p.QUADS, **declared), *map(p.name, NAMES), p.start()]
        made = [MALFORMED if terms is None else p.add(*terms) for terms in rows]
    else:
        before = [w.options(w.QUADS, **declared), *map(w.name, NAMES)]
        made = [MALFORMED_QUAD if terms is None else w.quad(*terms) for terms in rows]
    decoder = (patch_decoder if patch else text_decoder)(kernel)
    found = error_of(decoder, w.frame(*before, *made))
    assert found[1:] == (0, len(before) + number, message)


@pytest.mark.parametrize("quoted", [False, True], ids=["terms", "quoted triples"])
@pytest.mark.parametrize("order", ["spo", "osp"])
def test_too_many_long_terms_are_counted_by_statement(
    kernel: Kernel, quoted: bool, order: str
) -> None:
    """A statement that quotes the term twice counts it twice."""
    term = w.literal("x" * 2000)
    term = w.quoted(S, P, term) if quoted else term
    parts = {"s": S, "p": P, "o": term}
    rows = [w.triple(**{each: parts[each] for each in order}), w.triple(s=OBJECT), w.triple(s=S)]
    twice = w.quoted(w.quoted(S, P, w.literal("x" * 2000)), P, w.literal("y" * 3000))
    frame = w.frame(w.options(star=True), *map(w.name, NAMES), *rows, w.triple(s=S, p=P, o=twice))
    for most, counted in ((4000, 4004), (6006, 11010), (11009, 11010)):
        decoder = kernel.TextDecoder(limits=Limits(frame_expansion=most))
        *position, message = error_of(decoder, frame)
        assert position == [LimitError, 0, None]
        assert message.startswith(
            f"what long terms of a frame take as text is {counted}, above the limit of {most} "
        )


@pytest.mark.parametrize(
    "term",
    [
        w.literal('"' * 200),
        w.literal("1e300", datatype=1),
        w.quoted(S, P, w.literal("1e270", datatype=1)),
        w.quoted(S, P, w.quoted(S, P, w.literal("1e270", datatype=1))),
        w.bnode(" " * 200),
    ],
)
@pytest.mark.parametrize("following", [b"", MALFORMED], ids=["alone", "before a wrong row"])
def test_a_term_whose_text_is_too_long(kernel: Kernel, term: w.WireTerm, following: bytes) -> None:
    before = [p.options(p.FRAME, star=True), *map(p.name, NAMES), p.datatype(DOUBLE)]
    limits = Limits(frame_bytes=330)
    frames = [p.frame(*before), p.frame(p.start(), p.add(S, P, term), following, p.commit())]
    errors = []
    for name in ("python", kernel.name):
        decoder = patch_decoder(Kernel(name), limits)
        list(decoder.decode(frames[0]))
        errors.append(error_of(decoder, frames[1]))
    assert errors[0] == errors[1]
    assert errors[0][:3] == (LimitError, 1, 1)

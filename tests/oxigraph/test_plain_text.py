"""Lines of text for quads: Oxigraph reads the same quads from them."""

from __future__ import annotations

import random
from typing import Any

import pyoxigraph as ox
import pytest

import jelly_plugins
from jelly_plugins.oxigraph.plain_text import canonical_quads, plain_text

#: Without the compiled kernel no text is known to be plain.
PLAIN = pytest.mark.skipif(not jelly_plugins.native, reason="only the kernel knows plain lines")

XSD = "http://www.w3.org/2001/XMLSchema#"
SEEDS = [
    f"{triple}{graph}"
    for graph in ("", " <urn:g>")
    for triple in (
        "<urn:s> <urn:p> <urn:o>",
        '<urn:s> <urn:p> "ü \\" <x> . "@en-GB',
        f'<urn:s> <urn:p> "-17.5"^^<{XSD}decimal>',
        f'<urn:s> <urn:p> "1999-12-31T23:59:59.5Z"^^<{XSD}dateTime>',
        f'<urn:s> <urn:p> "017"^^<{XSD}integer>',
        "_:s <urn:p> _:o",
    )
]
CHUNKS = [
    *(" ", "<", ">", '"', "\\", "\n", ".", " .\n", "0", "-", "T", "\x00", "\x7f", "é", "\uffff"),
    *("_:b", "<urn:x>", "@en", "^^", "\\u0041", f"^^<{XSD}date>"),
]


def mutated(rng: random.Random) -> str:
    text = rng.choice(SEEDS)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text))
        end = at + rng.choice((0, 0, 1, 5))
        put = rng.choice(CHUNKS) if rng.random() < 0.7 else rng.choice(SEEDS)[:end]
        text = text[:at] + put + text[end:]
    return text


@PLAIN
def test_a_usual_line_is_one_quad_that_a_store_keeps() -> None:
    rng = random.Random(7)
    usual = 0
    for _ in range(3000):
        try:
            quads = list(ox.parse(f"{mutated(rng)} .\n", ox.RdfFormat.N_QUADS, lenient=True))
        except SyntaxError:
            continue
        for quad in quads:
            kept, text, _ = plain_text([quad])
            if text is None:
                continue
            usual += 1
            assert list(ox.parse(text, ox.RdfFormat.N_QUADS)) == kept
            store = ox.Store()
            store.add(quad)
            assert list(store) == kept
    assert usual > 300


@pytest.mark.parametrize("at", range(4))
def test_no_text_is_given_of_a_term_that_looks_like_two(at: int) -> None:
    """As unchecked IRIs may."""
    escaped = "<urn:a\\u003E\\u0020\\u003Curn:b>"
    terms = [f"<urn:{name}>" for name in "spog"]
    for term in (escaped, f'"x"^^{escaped}' if at == 2 else escaped):
        for width in {3, max(3, at + 1), 4}:
            if at < width:
                line = " ".join([*terms[:at], term, *terms[at + 1 : width]])
                [quad] = ox.parse(f"{line} .\n", ox.RdfFormat.N_QUADS, lenient=True)
                assert plain_text([quad])[1] is None


@PLAIN
@pytest.mark.parametrize("seed", range(20))
def test_quads_get_the_form_that_the_store_gives_them(seed: int) -> None:
    """Their text has these forms, so that some lines differ from those that were given."""
    rng = random.Random(seed)
    graphs = [ox.DefaultGraph(), ox.NamedNode("urn:g"), ox.BlankNode("g")][: rng.randrange(1, 4)]
    objects: list[Any] = [
        ox.Literal(f"{rng.choice(('', '0', '00'))}{rng.randrange(9)}\n", datatype=None),
        ox.NamedNode("urn:o"),
        ox.BlankNode("o"),
    ]
    for number in range(rng.randrange(20)):
        lex = f"{'0' * rng.randrange(3)}{number}{rng.choice(('', '.0', '.50', '.5'))}"
        name = rng.choice(("integer", "decimal", "string", "double"))
        objects.append(ox.Literal(lex, datatype=ox.NamedNode(XSD + name)))
    quads = [
        ox.Quad(ox.NamedNode(f"urn:s{rng.randrange(3)}"), ox.NamedNode("urn:p"), term, graph)
        for term in objects
        for graph in graphs
    ]
    rng.shuffle(quads)
    kept, text, changed = plain_text(quads)
    assert text is not None
    assert {quad: changed.get(quad, quad) for quad in quads} == dict(
        zip(quads, canonical_quads(quads), strict=True)
    )
    assert all(before != after for before, after in changed.items())
    # Graph by graph, otherwise as they were.
    order = dict.fromkeys(quad.graph_name for quad in quads)
    assert kept == [
        changed.get(quad, quad) for graph in order for quad in quads if quad.graph_name == graph
    ]
    assert text == ox.serialize(kept, format=ox.RdfFormat.N_QUADS)


def test_what_is_not_plain_gets_that_form_too() -> None:
    [escaped] = ox.parse(b"<urn:a\\u003E> <urn:p> <urn:o> .\n", ox.RdfFormat.N_QUADS, lenient=True)
    integer = ox.NamedNode(f"{XSD}integer")
    odd, known = (
        ox.Quad(integer, integer, ox.Literal(lex, datatype=integer)) for lex in ("01", "1")
    )
    quads, text, changed = plain_text([odd, escaped])
    assert (quads, text, changed) == ([known, escaped], None, {odd: known})


@PLAIN
@pytest.mark.parametrize("graph", [ox.DefaultGraph(), ox.NamedNode("urn:g")])
def test_long_literals(graph: Any) -> None:
    """They are written by another way, to the same text."""
    long = ["é" * 700, "x" * 1100, "\n" * 600, '"' * 600, "\uffff \x7f" * 300]
    literals = [ox.Literal(text) for text in long]
    literals += [ox.Literal(text, language="en-gb") for text in long]
    literals += [ox.Literal(text, datatype=ox.NamedNode("urn:é")) for text in long]
    terms = [*literals, ox.NamedNode("urn:o"), ox.BlankNode("o")]
    subjects = [ox.BlankNode("s"), *(ox.NamedNode(f"urn:s{number}") for number in range(20))]
    quads = [ox.Quad(s, ox.NamedNode("urn:p"), o, graph) for s in subjects for o in terms]
    kept, text, changed = plain_text(quads)
    assert text is not None
    assert (kept, changed) == (quads, {})
    assert text == ox.serialize(quads, format=ox.RdfFormat.N_QUADS)


@pytest.mark.parametrize("tag", ["abcdefghi", "x", "en-x", "EN"])
def test_long_literals_that_were_never_checked(tag: str) -> None:
    long = "x" * 1000
    text = "".join(f'<urn:s> <urn:p> "{long}{n}"@{tag} .\n' for n in range(150))
    quads = list(ox.parse(text.encode(), ox.RdfFormat.N_QUADS, lenient=True))
    _, found, _ = plain_text(quads)
    expected = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    assert found is None or found == expected

"""The form of literals in a store: what is said of it without asking is what the store does."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jelly_plugins
from jelly_plugins.codec import (
    Iri,
    Literal,
    PatchColumnDecoder,
    PatchEncoder,
    PatchOptions,
    PatchStatementType,
    Triple,
)
from jelly_plugins.codec.common.positions import OBJECT
from jelly_plugins.codec.patch.operations import END, add
from jelly_plugins.codec.text.forms import FORMS, is_canonical
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.oxigraph.canonical import SURE_TERMS, canonical, canonicals
from jelly_plugins.oxigraph.patches.record import stage
from jelly_plugins.oxigraph.rows import RowFactory, canonical_quads

from ..ntriples import WholeTexts

XSD = "http://www.w3.org/2001/XMLSchema#"
P = ox.NamedNode("urn:p")
#: All datatypes of XML Schema that literals are written with, and one that is none of them.
ALL = [
    *(
        f"{XSD}{name}"
        for name in (
            *("anyURI", "base64Binary", "boolean", "byte", "date", "dateTime", "dateTimeStamp"),
            *("dayTimeDuration", "decimal", "double", "duration", "float", "gDay", "gMonth"),
            *("gMonthDay", "gYear", "gYearMonth", "hexBinary", "int", "integer", "language"),
            *("long", "Name", "NCName", "negativeInteger", "NMTOKEN", "nonNegativeInteger"),
            *("nonPositiveInteger", "normalizedString", "positiveInteger", "short", "time"),
            *("token", "unsignedByte", "unsignedInt", "unsignedLong", "unsignedShort"),
            "yearMonthDuration",
        )
    ),
    "urn:datatype",
]


def stored(literals: list[ox.Literal]) -> list[ox.Literal]:
    """What a store makes of literals."""
    store = ox.Store()
    store.extend(
        [ox.Quad(ox.NamedNode(f"urn:{at}"), P, literal) for at, literal in enumerate(literals)]
    )
    made = {str(quad.subject): quad.object for quad in store}
    found = [made[f"<urn:{at}>"] for at in range(len(literals))]
    assert all(isinstance(term, ox.Literal) for term in found)
    return found  # type: ignore[return-value]


def candidate(datatype: str, rng: random.Random) -> str:
    """A lexical form as there may be one of the datatype, in canonical form more often than not."""
    if datatype == f"{XSD}boolean":
        return rng.choice(("true", "false", "1", "0", "TRUE"))
    if datatype.startswith(f"{XSD}date"):
        year = rng.choice((rng.randrange(1, 10_000), rng.randrange(1900, 2100)))
        day = f"{year:04}-{rng.randrange(14):02}-{rng.randrange(33):02}"
        time = f"T{rng.randrange(26):02}:{rng.randrange(62):02}:{rng.randrange(62):02}"
        part = rng.choice(("", f".{rng.randrange(10 ** rng.randrange(1, 11))}"))
        part += rng.choice(("", "0" * rng.randrange(8) if part else ".0", "."))
        zone = rng.choice(("", "Z", "+00:00", "-05:00"))
        return (day if datatype.endswith("date") else f"{day}{time}{part}") + zone
    digits = rng.choice(("0", "00", "", str(rng.randrange(10 ** rng.randrange(1, 20)))))
    digits += "0" * rng.choice((0, 0, rng.randrange(20)))
    zeros = "0" * rng.randrange(8)
    part = f".{zeros}{rng.randrange(10 ** rng.randrange(1, 18))}"
    part = rng.choice(("", "", part, f"{part}{zeros}", ".", ".0"))
    exponent = f"{rng.choice('eE')}{rng.choice(('', '+', '-'))}{rng.randrange(40)}"
    sign = rng.choice(("", "", "-", "+"))
    return sign + digits + part + rng.choice(("", "", "", "e0", exponent, "\n"))


class Asked(WholeTexts):
    """Makes terms for the codec, and notes which literals it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: set[str] = set()

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> str:
        self.forms.add(lex)
        return super().literal(lex, langtag, datatype)


@pytest.mark.parametrize("datatype", ALL)
def test_what_is_canonical_is_kept(datatype: str) -> None:
    """By the store, and by all that say so without asking it."""
    rng, node = random.Random(datatype), ox.NamedNode(datatype)
    like = [datatype] if datatype in FORMS else sorted(FORMS)
    forms = sorted({candidate(each, rng) for each in like for _ in range(8000 // len(like))})
    known = {form for form in forms if is_canonical(form, datatype)}
    assert len(known) >= 2 or datatype not in FORMS
    literals = [ox.Literal(form, datatype=node) for form in sorted(known)]
    assert stored(literals) == literals
    # The others are asked for.
    factory = RowFactory()
    some = rng.sample(forms, min(50, len(forms)))
    expected = stored([ox.Literal(form, datatype=node) for form in some])
    assert [factory.literal(form, None, datatype) for form in some] == list(map(str, expected))
    given = [Literal(form, datatype=datatype) for form in forms]
    if jelly_plugins.native:
        # The codec in Python asks for every term.
        iri, asked = Iri("urn:n"), Asked()
        encoder = PatchEncoder(PatchOptions(statement_type=PatchStatementType.TRIPLES))
        rows = [*(add(Triple(iri, iri, term)) for term in given), END]
        decoder = PatchColumnDecoder(validator=asked)
        for frame in [*encoder.add(rows), *encoder.finish()]:
            list(decoder.decode(frame))
        assert set(forms) - asked.forms == known
    matches = pc.match_substring_regex(pa.array(map(term_text, given)), SURE_TERMS[OBJECT])
    found = {form for form, kept in zip(forms, matches.to_pylist(), strict=True) if kept}
    if datatype in (f"{XSD}{name}" for name in ("boolean", "integer", "date", "dateTime")):
        assert found == known
    else:
        assert found <= known
        assert bool(found) is (datatype in FORMS)


@given(
    st.text(alphabet="+-.0123456789eEINFaTZ: \n", max_size=12),
    st.sampled_from(ALL),
)
def test_any_text_is_what_the_store_makes_of_it(lex: str, datatype: str) -> None:
    literal = ox.Literal(lex, datatype=ox.NamedNode(datatype))
    assert [canonical(literal)] == list(canonicals([literal]).values()) == stored([literal])


def test_tags_are_kept() -> None:
    literal = ox.Literal("01", language="en", direction=ox.BaseDirection.LTR)
    assert canonical(literal) == literal


# Lines of text for quads: Oxigraph reads the same quads from them

#: Without the compiled kernel no text is known to be plain.
PLAIN = pytest.mark.skipif(not jelly_plugins.native, reason="only the kernel knows plain lines")

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
            kept, text, _ = stage([quad])
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
                assert stage([quad])[1] is None


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
    kept, text, changed = stage(quads)
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
    quads, text, changed = stage([odd, escaped])
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
    kept, text, changed = stage(quads)
    assert text is not None
    assert (kept, changed) == (quads, {})
    assert text == ox.serialize(quads, format=ox.RdfFormat.N_QUADS)


@pytest.mark.parametrize("tag", ["abcdefghi", "x", "en-x", "EN"])
def test_long_literals_that_were_never_checked(tag: str) -> None:
    long = "x" * 1000
    text = "".join(f'<urn:s> <urn:p> "{long}{n}"@{tag} .\n' for n in range(150))
    quads = list(ox.parse(text.encode(), ox.RdfFormat.N_QUADS, lenient=True))
    _, found, _ = stage(quads)
    expected = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    assert found is None or found == expected

"""Both kernels write the same for IRIs and statements that recur in text."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jelly_plugins.codec import Encoder, Iri, Limits, PhysicalType, StreamOptions
from jelly_plugins.codec.common.terms import XSD_STRING
from jelly_plugins.codec.text import transcoding as text

native = pytest.importorskip("jelly_plugins.codec._native", reason="the kernel is not built")

TRIPLES, QUADS = PhysicalType.TRIPLES, PhysicalType.QUADS


def lines(rng: random.Random, count: int, variety: int, *, quads: bool) -> bytes:
    """Lines with IRIs in all positions, some of them frequent."""

    def iri() -> str:
        number = min(rng.randrange(variety), rng.randrange(variety))
        kind = number % 5
        if kind == 0:
            return f"<urn:x:{number}>"
        if kind == 1:
            return f"<http://example.org/{number % 7}/größe#{number}>"
        if kind == 2:
            return f"<http://example.org/{'long/' * rng.choice((20, 23, 24, 25))}{number}>"
        return f"<http://example.org/{number % 11}#{number}>"

    def value() -> str:
        kind = rng.random()
        if kind < 0.6:
            return iri()
        # Datatypes are IRIs that also occur elsewhere.
        return rng.choice((f'"{rng.randrange(9)}"^^{iri()}', '"x y"@en', '"plain"', "_:b"))

    return "".join(
        f"{iri()} {iri()} {value()} {rng.choice((iri(), '')) if quads else ''} .\n"
        for _ in range(count)
    ).encode()


def frames(kernel: Any, options: StreamOptions, chunks: list[bytes]) -> list[bytes]:
    encoder = kernel.TextEncoder(options, restart_every=3 * len(chunks[0]))
    found = [frame for chunk in chunks for frame in encoder.feed(chunk)]
    return found + encoder.finish()


@pytest.mark.parametrize("physical_type", [TRIPLES, QUADS], ids=lambda each: each.name)
@pytest.mark.parametrize("tables", [(8, 0, 8), (8, 8, 8), (16, 4, 16), (4000, 150, 32)], ids=str)
@pytest.mark.parametrize("variety", [12, 300, 6000])
def test_both_kernels_write_the_same(
    physical_type: PhysicalType, tables: tuple[int, int, int], variety: int
) -> None:
    names, prefixes, datatypes = tables
    options = StreamOptions(
        physical_type=physical_type,
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
    )
    rng = random.Random(f"{physical_type} {tables} {variety}")
    chunks = [lines(rng, 400, variety, quads=physical_type is QUADS) for _ in range(7)]
    assert frames(native, options, chunks) == frames(text, options, chunks)


def triple_term(rng: random.Random, *, nested: bool) -> str:
    """One of a few triple terms, in one of several spellings."""
    subject = rng.choice(("_:b", "<http://example.org/s>", "<http://example.org/größe>"))
    plain = ("_:b", "<urn:o>", '"é"', '"\\u00e9"', f'"é"^^<{XSD_STRING}>', '"1"^^<urn:d>', '"é"@en')
    value = triple_term(rng, nested=False) if nested and rng.random() < 0.2 else rng.choice(plain)
    space = rng.choice((" ", "", "\t"))
    return f"<<({space}{subject}{space}<http://example.org/p>{space}{value}{space})>>"


@pytest.mark.parametrize("physical_type", [TRIPLES, QUADS], ids=lambda each: each.name)
@pytest.mark.parametrize("prefixes", [0, 1, 8])
@pytest.mark.parametrize("nested", [False, True])
def test_triple_terms(
    physical_type: PhysicalType, prefixes: int, nested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = StreamOptions(
        physical_type=physical_type,
        rdf_star=True,
        max_name_table_size=8,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=8,
    )
    rng = random.Random(f"{physical_type} {prefixes} {nested}")
    objects = [lambda: triple_term(rng, nested=nested), lambda: '"plain"', lambda: "_:b"]
    chunks = [
        "".join(f"_:{rng.choice('bc')} <urn:p> {rng.choice(objects)()} .\n" for _ in range(200))
        for _ in range(7)
    ]
    given = [chunk.encode() for chunk in chunks]
    unusual: list[Any] = []
    add_unusual = native.Encoder.add_unusual

    def noted(encoder: Any, statements: Any) -> None:
        rows = list(statements)
        unusual.extend(rows)
        add_unusual(encoder, rows)

    monkeypatch.setattr(native.Encoder, "add_unusual", noted)
    assert frames(native, options, given) == frames(text, options, given)
    assert bool(unusual) == nested


@pytest.mark.parametrize("most", [0, 1, 10, 1000])
@pytest.mark.parametrize("frame_rows", [1, 60])
def test_lines_that_repeat_are_written_as_statements_are(most: int, frame_rows: int) -> None:
    settings: dict[str, Any] = {"frame_rows": frame_rows, "limits": Limits(frame_repeats=most)}
    rows = [(Iri("urn:s"), Iri("urn:p"), Iri(f"urn:{name}")) for name in "o" * 45 + "b" * 45 + "oo"]
    encoder = Encoder(StreamOptions(), **settings)
    expected = encoder.add(rows) + encoder.finish()
    data = b"".join(
        b"<%s> <%s> <%s> .\n" % tuple(iri.value.encode() for iri in row) for row in rows
    )
    for module in (native, text):
        encoder = module.TextEncoder(StreamOptions(), **settings)
        assert encoder.feed(data[:100]) + encoder.feed(data[100:]) + encoder.finish() == expected


def test_parsers_with_different_options() -> None:
    # An encoder may get lines of more than one parser.
    from jelly_plugins.codec.common.limits import DEFAULT_LIMITS
    from jelly_plugins.codec.text.ntriples import Dialect, LineParser
    from jelly_plugins.errors import TextError

    encoder = native.Encoder(StreamOptions())
    line = b"<relative> <urn:p> <urn:o> .\n"

    def parser(relative_iris: bool) -> LineParser:
        return LineParser(Dialect.RDF_STAR, False, relative_iris, DEFAULT_LIMITS, quads=False)

    for _ in range(3):
        encoder.add_text(line, parser(True))
        encoder.add_text(b"<urn:s> <urn:p> <urn:o> .\n", parser(True))
    with pytest.raises(TextError):
        encoder.add_text(line, parser(False))

"""Thousands of damaged streams: each gives a result or a JellyError, in bounded time.

Streams that can still be read must give the same result with Protocol Buffers and a simpler reader.

``JELLY_FUZZ_CASES`` is the number of cases (10,000 by default; a million take some minutes),
``JELLY_FUZZ_SEED`` the number of the first. A failure reports the case; use its number as the seed
with one case to repeat it.
"""

from __future__ import annotations

import faulthandler
import os
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    JellyError,
    Limits,
    Literal,
    LogicalType,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
)
from jelly_plugins.codec import FrameSplitter, GenericFactory
from jelly_plugins.codec.common import wire as wire_format
from jelly_plugins.io.streams import encode_frames, write_bytes

from ..codec import wire_builder as w
from ..codec.conftest import Kernel, kernel
from ..codec.oracle import Oracle
from ..codec.real_data import weather_frames
from ..shared_data import ROOT, SHARED
from .streams import damaged

__all__ = ["kernel"]

CASES = int(os.environ.get("JELLY_FUZZ_CASES", "10000"))
SEED = int(os.environ.get("JELLY_FUZZ_SEED", "0"))
#: Longer streams are truncated, so that the time suffices for many cases.
LONGEST = 4000
#: A case that takes more seconds ends the run with a traceback.
PATIENCE = 60
LIMITS = Limits(frame_rows=20_000, frame_repeats=20_000, frame_expansion=1 << 20)


def ours() -> list[bytes]:
    """Return streams of each type, with every kind of row and term."""
    s, p = Iri("http://example.org/s"), Iri("http://example.org/p#")
    terms = [
        *(Iri(f"http://example.org/{n}") for n in range(12)),
        *(BlankNode("b"), Literal("x"), Literal("x" * 200, langtag="en")),
        *(Literal("1", datatype=f"urn:d{n}") for n in range(3)),
    ]
    quoted = Triple(s, p, Triple(s, p, terms[-1]))
    triples = [Triple(subject, p, term) for subject in terms[:13:4] for term in [*terms, quoted]]
    graphs = [DEFAULT_GRAPH, BlankNode("g"), Iri("urn:g"), Literal("g")]
    quads = [Quad(*triple, graph) for graph in graphs for triple in triples[::3]]
    sizes = {"max_name_table_size": 10, "max_prefix_table_size": 2, "max_datatype_table_size": 2}
    streams = []
    for physical, statements in (
        (PhysicalType.TRIPLES, triples),
        (PhysicalType.QUADS, quads),
        (PhysicalType.GRAPHS, quads),
    ):
        options = StreamOptions(
            physical_type=physical,
            generalized_statements=True,
            rdf_star=True,
            stream_name="name",
            **sizes,  # type: ignore[arg-type]
        )
        streams.append(
            write_bytes(statements, options=options, namespaces={"ex": "http://example.org/"})
        )
        streams.append(write_bytes(statements[:9], options=options, frame_rows=3))
    grouped = StreamOptions(logical_type=LogicalType.GRAPHS, rdf_star=True)
    frames = list(encode_frames([triples[:5], [], triples[:5]], options=grouped))
    return [*streams, w.stream(*frames), frames[0], w.frame(w.options(), *w.SPO, w.spo())]


def files(folder: Path, pattern: str) -> list[bytes]:
    """Read the files of moderate size in a folder, which may not exist."""
    contents = (path.read_bytes() for path in sorted(folder.rglob(pattern)))
    return [data for data in contents if 2 < len(data) <= LONGEST]


@cache
def corpus() -> list[bytes]:
    """Return the streams to damage: made here, our vectors, and if available the official suite and
    real data.
    """
    streams = ours()
    streams += files(ROOT / "conformance" / "vectors", "*.jelly")
    streams += files(SHARED / "conformance" / "jelly-rdf", "in.jelly")
    if (SHARED / "data" / "assist-iot-weather_100kt.jelly.gz").exists():
        streams += [w.stream(weather_frames()[0]), w.stream(*weather_frames()[:9])[:LONGEST]]
    return streams


def attempt(kernel: Kernel, data: bytes) -> str:
    """Read a stream to its end or first error; return which of the two it was."""
    splitter = FrameSplitter(limits=LIMITS)
    decoder = kernel.Decoder(GenericFactory(), limits=LIMITS)
    read = []
    try:
        for chunk in (splitter.feed(data), splitter.finish()):
            for frame in chunk:
                read.append((frame, decoder.decode(frame).statements))
        decoder.finish()
    except JellyError as error:
        return type(error).__name__
    oracle = Oracle()
    for frame, statements in read:
        assert oracle.decode(frame) == statements
    return "read"


def test_the_corpus_is_read(kernel: Kernel) -> None:
    assert {attempt(kernel, data) for data in ours()} == {"read"}


def test_broken_streams(kernel: Kernel) -> None:
    streams = corpus()
    outcomes: Counter[str] = Counter()
    for case in range(SEED, SEED + CASES):
        random = Random(case)
        data = random.choice(streams)
        if random.random() < 0.1:
            other = random.choice(streams)
            data = data[: random.randrange(len(data))] + other[random.randrange(len(other)) :]
        data = damaged(random, data)
        if case % 1000 == 0:
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            outcomes[attempt(kernel, data)] += 1
        except Exception as error:
            pytest.fail(f"JELLY_FUZZ_SEED={case} JELLY_FUZZ_CASES=1: {error!r}\n{data.hex()}")
    faulthandler.cancel_dump_traceback_later()
    if CASES >= 5000:
        # The mutations are effective: some streams remain valid, and each kind of error occurs.
        kinds = "Wire Truncated Options Order LookupTable Statement Limit"
        assert set(outcomes) >= {"read", *(f"{kind}Error" for kind in kinds.split())}


many = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@many
@given(data=st.data())
def test_random_rows(kernel: Kernel, data: st.DataObject) -> None:
    """Rows with correct lengths and random contents."""
    numbers = st.integers(0, 2**64 - 1) | st.integers(0, 20)
    leaf = st.builds(
        lambda number, value: wire_format.varint(number << 3) + wire_format.varint(value),
        st.integers(1, 20),
        numbers,
    ) | st.builds(
        lambda number, payload: wire_format.bytes_field(number, payload),
        st.integers(1, 20),
        st.binary(max_size=6) | st.just(b"urn:s"),
    )
    fields = st.recursive(
        leaf,
        lambda inner: st.builds(
            lambda number, parts: wire_format.bytes_field(number, b"".join(parts)),
            st.integers(1, 16),
            st.lists(inner, max_size=3),
        ),
        max_leaves=8,
    )
    rows = st.builds(
        lambda number, parts: w.row(number, b"".join(parts)),
        st.sampled_from([2, 3, 4, 5, 6, 9, 10, 11]),
        st.lists(fields, max_size=4),
    )
    physical = data.draw(st.sampled_from([w.TRIPLES, w.QUADS, w.GRAPHS]))
    head = [w.options(physical, generalized=True, star=True, version=2), *w.SPO, w.datatype("d")]
    frame = w.frame(*head, *data.draw(st.lists(rows, max_size=5)))
    attempt(kernel, w.stream(frame))


@many
@given(data=st.binary(max_size=200))
def test_random_bytes(kernel: Kernel, data: bytes) -> None:
    attempt(kernel, data)

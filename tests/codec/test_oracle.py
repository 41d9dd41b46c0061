"""Compare the codec with Protocol Buffers and an independently written reader."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings

from jelly_plugins import JellyError, PhysicalType, StreamOptions, TermError
from jelly_plugins.codec import DEFAULT_GRAPH, BlankNode, GenericFactory, Iri, Literal, Triple
from jelly_plugins.proto import rdf_pb2

from ..fuzz.leaning import leaning_stream
from .conftest import Kernel
from .oracle import Oracle
from .real_data import weather_frames
from .strategies import streams

#: All examples of a run use the same kernel.
many = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@many
@given(stream=streams())
def test_the_oracle_reads_our_output(
    kernel: Kernel, stream: tuple[StreamOptions, list[list[Any]]]
) -> None:
    options, batches = stream
    encoder = kernel.Encoder(options)
    decoder = kernel.Decoder(GenericFactory())
    oracle = Oracle()
    rejections: list[str] = []
    for batch in batches:
        written: list[Any] = []
        for statement in batch:
            try:
                assert encoder.add([statement]) == []
                written.append(statement)
            except TermError as error:
                # The row needs more entries than the small tables can hold.
                rejections.append(error.message)
        data = encoder.flush()
        message = rdf_pb2.RdfStreamFrame.FromString(data)
        assert message.SerializeToString() == data
        assert oracle.decode(data) == written
        frame = decoder.decode(data)
        assert frame.statements == written
        assert frame.rows == len(message.rows)
    for data in encoder.finish():
        oracle.decode(data)
        decoder.decode(data)
    assert _fields(oracle.options) == _fields(decoder.options)
    assert decoder.options == encoder.options
    assert all("table_size" in message for message in rejections)
    event("some rejected" if rejections else "all written")


OPTION_FIELDS = [field.name for field in rdf_pb2.RdfStreamOptions.DESCRIPTOR.fields]


def _fields(options: Any) -> list[Any]:
    return [getattr(options, field) for field in OPTION_FIELDS]


@pytest.mark.parametrize("seed", range(0, 2000, 100))
def test_the_codec_reads_other_output(kernel: Kernel, seed: int) -> None:
    """Unusual streams: any ids, any order of entries, terms that repeat or not."""
    read = 0
    for number in range(seed, seed + 100):
        decoder = kernel.Decoder(GenericFactory())
        oracle = Oracle()
        namespaces: list[Any] = []
        for data in leaning_stream(Random(f"oracle/{number}")):
            try:
                frame = decoder.decode(data)
            except JellyError:
                break
            namespaces += frame.namespaces
            assert frame.statements == oracle.decode(data)
            assert namespaces == oracle.namespaces
        else:
            read += 1
    assert read > 50


def test_the_oracle_itself() -> None:
    """Compare the oracle with a stream whose meaning is given here, so that the two readers cannot
    share an error.
    """
    frame = rdf_pb2.RdfStreamFrame(
        rows=[
            {"options": {"physical_type": PhysicalType.QUADS, "max_name_table_size": 8}},
            {"prefix": {"value": "urn:"}},
            {"name": {"value": "a"}},
            {"name": {"id": 3, "value": "c"}},
            {"datatype": {"id": 2, "value": "urn:d"}},
            {
                "quad": {
                    "s_bnode": "x",
                    "p_iri": {"prefix_id": 1},
                    "o_triple_term": {
                        "s_iri": {"name_id": 3},
                        "p_iri": {"name_id": 1},
                        "o_literal": {"lex": "1", "datatype": 2},
                    },
                    "g_default_graph": {},
                }
            },
        ]
    )
    a, c = Iri("urn:a"), Iri("urn:c")
    quoted = Triple(c, a, Literal("1", datatype="urn:d"))
    (quad,) = Oracle().decode(frame.SerializeToString())
    assert quad == (BlankNode("x"), a, quoted, DEFAULT_GRAPH)


def test_real_data(kernel: Kernel) -> None:
    """Ids of two bytes, tables that wrap around, thousands of statements."""
    frames = weather_frames()[:60]
    oracle = Oracle()
    expected = [oracle.decode(data) for data in frames]
    assert [frame.statements for frame in kernel.decode(*frames)] == expected
    statements = [statement for batch in expected for statement in batch]
    for options in (StreamOptions(), StreamOptions.small()):
        oracle = Oracle()
        written = kernel.encode(statements, options)
        assert [statement for data in written for statement in oracle.decode(data)] == statements

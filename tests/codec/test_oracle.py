"""Compare the codec with Protocol Buffers and an independently written reader."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from jelly_plugins import JellyError, PhysicalType, StreamOptions, TermError
from jelly_plugins.codec import DEFAULT_GRAPH, BlankNode, GenericFactory, Iri, Literal, Triple
from jelly_plugins.proto import rdf_pb2

from .conftest import Kernel
from .oracle import Oracle
from .real_data import weather_frames
from .strategies import streams

#: All examples of a run use the same kernel.
many = settings(
    max_examples=200,
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


# Streams that no encoder writes: any ids, any order of entries, terms that repeat without need.

ids = st.integers(0, 5)
labels = st.sampled_from(["", "a", "b"])


class Builder:
    """Builds random Protocol Buffers messages, and the statements that they mean."""

    def __init__(self, draw: st.DrawFn, options: Any) -> None:
        self.draw = draw
        self.options = options

    def iri(self) -> Any:
        return rdf_pb2.RdfIri(prefix_id=self.draw(ids), name_id=self.draw(ids))

    def literal(self) -> Any:
        literal = rdf_pb2.RdfLiteral(lex=self.draw(labels))
        kind = self.draw(st.sampled_from(["plain", "langtag", "datatype"]))
        if kind == "langtag":
            literal.langtag = "en"
        elif kind == "datatype":
            literal.datatype = self.draw(st.integers(1, 4))
        return literal

    def set_term(self, message: Any, letter: str, depth: int = 0) -> None:
        kinds = ["iri", "iri", "iri"]
        if self.options.generalized_statements or letter in "so":
            kinds.append("bnode")
        if self.options.generalized_statements or letter == "o":
            kinds.append("literal")
        if self.options.rdf_star and letter in "so" and depth < 3:
            kinds.append("triple_term")
        if self.options.generalized_statements and letter == "g":
            kinds.append("literal")
        if letter == "g":
            kinds += ["default_graph", "bnode"]
        kind = self.draw(st.sampled_from(kinds))
        field = f"{letter}_{kind}"
        if kind == "bnode":
            setattr(message, field, self.draw(labels))
            return
        target = getattr(message, field)
        target.SetInParent()
        if kind == "iri":
            target.CopyFrom(self.iri())
        elif kind == "literal":
            target.CopyFrom(self.literal())
        elif kind == "triple_term":
            for inner in "spo":
                self.set_term(target, inner, depth + 1)
        # Without this call, a copied empty message would not be set.
        target.SetInParent()

    def statement(self, message: Any, letters: str) -> None:
        for letter in letters:
            if self.draw(st.booleans()):
                self.set_term(message, letter)

    def row(self) -> Any:
        physical = self.options.physical_type
        kinds = ["name", "name", "prefix", "datatype", "namespace", "options"]
        kinds += {1: ["triple"], 2: ["quad"], 3: ["triple", "graph_start", "graph_end"]}[
            physical
        ] * 4
        kind = self.draw(st.sampled_from(kinds))
        row = rdf_pb2.RdfStreamRow()
        target = getattr(row, kind)
        target.SetInParent()
        if kind in ("name", "prefix", "datatype"):
            target.id = self.draw(ids)
            target.value = self.draw(st.sampled_from(["", "a/", "b#", "é"]))
        elif kind == "namespace":
            target.name = self.draw(labels)
            target.value.CopyFrom(self.iri())
            target.value.SetInParent()
        elif kind == "options":
            target.CopyFrom(self.options)
        elif kind == "triple":
            self.statement(target, "spo")
        elif kind == "quad":
            self.statement(target, "spog")
        elif kind == "graph_start":
            self.set_term(target, "g")
        return row


@st.composite
def messages(draw: st.DrawFn) -> list[bytes]:
    options = rdf_pb2.RdfStreamOptions(
        physical_type=draw(st.sampled_from([1, 2, 3])),
        generalized_statements=draw(st.booleans()),
        rdf_star=draw(st.booleans()),
        max_name_table_size=8,
        max_prefix_table_size=5,
        max_datatype_table_size=4,
        version=draw(st.sampled_from([1, 2])),
    )
    builder = Builder(draw, options)
    head = rdf_pb2.RdfStreamFrame(rows=[{"options": options}])
    # Most tables are full, so that most streams are valid.
    for kind, size in (("name", 8), ("prefix", 5), ("datatype", 4)):
        for number in range(draw(st.sampled_from([size, size, size, 1]))):
            row = head.rows.add()
            getattr(row, kind).value = f"{kind[0]}{number}"
    first = head.rows.add()
    if options.physical_type == 3:
        builder.set_term(first.graph_start, "g")
        first = head.rows.add()
    target = first.quad if options.physical_type == 2 else first.triple
    for letter in "spog" if options.physical_type == 2 else "spo":
        builder.set_term(target, letter)
    frames = [head]
    for _ in range(draw(st.integers(0, 3))):
        frame = rdf_pb2.RdfStreamFrame()
        frame.rows.extend(builder.row() for _ in range(draw(st.integers(0, 6))))
        if draw(st.booleans()):
            frame.metadata[draw(labels)] = draw(st.binary(max_size=3))
        frames.append(frame)
    return [frame.SerializeToString(deterministic=True) for frame in frames]


@many
@given(frames=messages())
def test_the_codec_reads_other_output(kernel: Kernel, frames: list[bytes]) -> None:
    decoder = kernel.Decoder(GenericFactory())
    oracle = Oracle()
    namespaces: list[Any] = []
    for data in frames:
        try:
            frame = decoder.decode(data)
        except JellyError as error:
            event(type(error).__name__)
            return
        namespaces += frame.namespaces
        assert frame.statements == oracle.decode(data)
        assert namespaces == oracle.namespaces
        assert frame.metadata == dict(rdf_pb2.RdfStreamFrame.FromString(data).metadata)
    event("read")


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

"""The bytes of both encodings, compared with the ``thrift`` package and protobuf."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jelly_plugins.codec import DEFAULT_LIMITS
from jelly_plugins.jena.protobuf import ProtobufWire
from jelly_plugins.jena.schema import PATCH_ROW, RESULT, STREAM_ROW, VARIABLES, Message
from jelly_plugins.jena.thrift import ThriftWire

from . import peers

TEXT = st.text(max_size=20)
PREFIX_NAMES = st.fixed_dictionaries({"prefix": TEXT, "localName": TEXT})
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
DECIMALS = st.fixed_dictionaries(
    {"value": NUMBERS, "scale": st.integers(-(1 << 31), (1 << 31) - 1)}
)


def literals(*kinds: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Any]:
    return st.tuples(TEXT, st.one_of(*kinds)).map(
        lambda parts: ("literal", {"lex": parts[0], **parts[1]})
    )


def members(**kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        *(kind.map(lambda value, name=name: {name: value}) for name, kind in kinds.items())
    )


def terms(literal: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make terms of all kinds, as values of rows."""
    plain = st.one_of(
        TEXT.map(lambda text: ("iri", {"iri": text})),
        TEXT.map(lambda text: ("bnode", {"label": text})),
        TEXT.map(lambda text: ("variable", {"name": text})),
        PREFIX_NAMES.map(lambda name: ("prefixName", name)),
        literal,
        st.sampled_from(["any", "undefined", "repeat"]).map(lambda name: (name, {})),
        NUMBERS.map(lambda number: ("valInteger", number)),
        st.floats(allow_nan=False).map(lambda number: ("valDouble", number)),
        DECIMALS.map(lambda number: ("valDecimal", number)),
    )
    return st.recursive(
        plain,
        lambda inner: st.fixed_dictionaries({"S": inner, "P": inner, "O": inner}).map(
            lambda triple: ("tripleTerm", triple)
        ),
        max_leaves=8,
    )


THRIFT_TERMS = terms(
    literals(
        st.just({}),
        members(langtag=TEXT, datatype=TEXT, dtPrefix=PREFIX_NAMES, baseDirection=TEXT),
        st.fixed_dictionaries({"langtag": TEXT, "baseDirection": TEXT}),
    )
)
PROTOBUF_TERMS = terms(
    literals(
        members(
            langtag=TEXT, datatype=TEXT, dtPrefix=PREFIX_NAMES, langdir=TEXT, simple=st.booleans()
        )
    )
)


def rows(term: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries({"prefix": TEXT, "uri": TEXT}).map(lambda row: ("prefixDecl", row)),
        st.fixed_dictionaries(dict.fromkeys("SPO", term)).map(lambda row: ("triple", row)),
        st.fixed_dictionaries(dict.fromkeys("SPOG", term)).map(lambda row: ("quad", row)),
    )


def read(wire: Any, data: bytes, message: Message) -> list[Any]:
    found = []
    at = 0
    while at < len(data):
        value, at = wire.read(data, at, message, DEFAULT_LIMITS)
        found.append(value)
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(rows(THRIFT_TERMS), max_size=4))
def test_thrift_rows(values: list[Any]) -> None:
    data = peers.thrift_bytes([(peers.THRIFT_ROW, value) for value in values])
    wire = ThriftWire()
    assert b"".join(wire.write(STREAM_ROW, value) for value in values) == data
    assert read(wire, data, STREAM_ROW) == values
    assert peers.thrift_values(data, peers.THRIFT_ROW) == values


@settings(max_examples=150, deadline=None)
@given(st.lists(rows(PROTOBUF_TERMS), max_size=4))
def test_protobuf_rows(values: list[Any]) -> None:
    data = peers.protobuf_bytes([("RDF_StreamRow", value) for value in values])
    wire = ProtobufWire()
    assert b"".join(wire.write(STREAM_ROW, value) for value in values) == data
    assert read(wire, data, STREAM_ROW) == values


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, max_size=20), st.lists(THRIFT_TERMS, max_size=20))
def test_thrift_results(names: list[str], solution: list[Any]) -> None:
    variables = {"vars": [{"name": name} for name in names]}
    result = {"row": solution}
    data = peers.thrift_bytes([(peers.THRIFT_VARIABLES, variables), (peers.THRIFT_RESULT, result)])
    wire = ThriftWire()
    assert wire.write(VARIABLES, variables) + wire.write(RESULT, result) == data
    value, at = wire.read(data, 0, VARIABLES, DEFAULT_LIMITS)
    assert (value, *wire.read(data, at, RESULT, DEFAULT_LIMITS)) == (variables, result, len(data))


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, max_size=20), st.lists(PROTOBUF_TERMS, max_size=20))
def test_protobuf_results(names: list[str], solution: list[Any]) -> None:
    variables = {"vars": [{"name": name} for name in names]}
    result = {"row": solution}
    data = peers.protobuf_bytes([("RDF_VarTuple", variables), ("RDF_DataTuple", result)])
    wire = ProtobufWire()
    assert wire.write(VARIABLES, variables) + wire.write(RESULT, result) == data
    value, at = wire.read(data, 0, VARIABLES, DEFAULT_LIMITS)
    assert (value, *wire.read(data, at, RESULT, DEFAULT_LIMITS)) == (variables, result, len(data))


STATEMENT = st.fixed_dictionaries(dict.fromkeys("spo", THRIFT_TERMS))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["dataAdd", "dataDel"]), STATEMENT),
            st.tuples(TEXT, THRIFT_TERMS).map(
                lambda row: ("header", {"name": row[0], "value": row[1]})
            ),
            st.fixed_dictionaries({"prefix": TEXT, "iriStr": TEXT}).map(
                lambda row: ("prefixAdd", row)
            ),
            st.tuples(TEXT, THRIFT_TERMS).map(
                lambda row: ("prefixDel", {"graphNode": row[1], "prefix": row[0]})
            ),
            st.integers(0, 3).map(lambda number: ("txn", number)),
        ),
        max_size=4,
    )
)
def test_thrift_patch_rows(values: list[Any]) -> None:
    data = peers.thrift_bytes([(peers.THRIFT_PATCH_ROW, value) for value in values])
    wire = ThriftWire()
    assert b"".join(wire.write(PATCH_ROW, value) for value in values) == data
    assert read(wire, data, PATCH_ROW) == values
    assert peers.thrift_values(data, peers.THRIFT_PATCH_ROW) == values


def test_base_in_protobuf_only() -> None:
    base = ("base", {"iri": "urn:b"})
    data = peers.protobuf_bytes([("RDF_StreamRow", base)])
    assert ProtobufWire().write(STREAM_ROW, base) == data
    assert read(ProtobufWire(), data, STREAM_ROW) == [base]


@pytest.mark.parametrize("size", [14, 15, 16, 300])
def test_lists_of_any_length(size: int) -> None:
    result = {"row": [("undefined", {})] * size}
    assert ThriftWire().write(RESULT, result) == peers.thrift_bytes([(peers.THRIFT_RESULT, result)])
    assert ThriftWire().read(ThriftWire().write(RESULT, result), 0, RESULT, DEFAULT_LIMITS)[0] == (
        result
    )

"""Read our vectors with the implementation over protoc's classes."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError

from jelly_plugins.codec import FrameSplitter
from jelly_plugins.errors import TruncatedError

from . import oracle

VECTORS = Path(__file__).parents[2] / "conformance/vectors/sparql_from_jelly"
POSITIVE = sorted(VECTORS.glob("*/pos_*/in.jellys"))
#: Errors that protoc's classes do not detect: limits, and encodings on the wire.
UNSEEN = ("neg_billion_rows", "neg_two_terms", "neg_two_options", "neg_cut_off")
NEGATIVE = [path for path in VECTORS.glob("*/neg_*/in.jellys") if path.parent.name not in UNSEEN]


def read(path: Path) -> tuple[oracle.Reader, list[tuple[Any, ...]]]:
    splitter = FrameSplitter()
    reader = oracle.Reader()
    frames = chain(splitter.feed(path.read_bytes()), splitter.finish())
    return reader, [row for frame in frames for row in reader.frame(frame)]


def term(value: dict[str, str]) -> tuple[Any, ...]:
    if value["type"] == "literal":
        return ("literal", value["value"], value.get("xml:lang"), value.get("datatype"))
    return ("iri" if value["type"] == "uri" else "bnode", value["value"])


@pytest.mark.parametrize("path", POSITIVE, ids=lambda path: path.parent.name)
def test_positive(path: Path) -> None:
    expected = json.loads(path.with_name("out.srj").read_text("utf-8"))
    reader, rows = read(path)
    assert reader.boolean == expected.get("boolean")
    if reader.boolean is None:
        assert reader.variables == expected["head"]["vars"]
        assert rows == [
            tuple(term(row[name]) if name in row else None for name in expected["head"]["vars"])
            for row in expected["results"]["bindings"]
        ]


@pytest.mark.parametrize("path", NEGATIVE, ids=lambda path: path.parent.name)
def test_negative(path: Path) -> None:
    with pytest.raises((oracle.OracleError, DecodeError, TruncatedError)):
        read(path)


def test_the_number_of_vectors() -> None:
    assert len(POSITIVE) + len(NEGATIVE) + len(UNSEEN) > 90

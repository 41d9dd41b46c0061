"""The options of the formats: each is in the table, and nothing else is taken; and
terms in columns, taken apart and put together. No Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StringType, StructField, StructType

from jelly_plugins import BlankNode, Iri, Literal, Triple
from jelly_plugins.codec.common.positions import POSITIONS
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.errors import JellyError, OptionsError, TermError
from jelly_plugins.spark.datasource.columns import join_terms, split_terms
from jelly_plugins.spark.datasource.options import (
    READING,
    WRITING,
    Settings,
    given_path,
)
from jelly_plugins.spark.datasource.sources import (
    JellyDataSource,
    JellyPatchDataSource,
    JellyStoreDataSource,
)

DOCS = Path(__file__).parents[2] / "docs" / "spark-options.md"


#: For each option: the format, an invalid value, and what the error has besides the name.
INVALID = {
    "terms": ("jelly", "x", "must be one of"),
    "subject": ("jelly", "a", "must be a term of N-Triples"),
    "predicate": ("jelly", "x", "must be a term of N-Triples"),
    "object": ("jelly-store", "<", "must be a term of N-Triples"),
    "graph": ("jelly", "x", "must be a term of N-Triples"),
    "blankNodes": ("jelly", "x", "must be one of"),
    "sourceColumns": ("jelly", "yes", "must be 'true' or 'false'"),
    "headers": ("jelly-patch", "yes", "must be 'true' or 'false'"),
    "mode": ("jelly", "DROPMALFORMED", "must be one of"),
    "maxPartitionBytes": ("jelly", "0", "must be a size"),
    "maxFilesPerTrigger": ("jelly", "0", "must be a whole number of at least 1"),
    "concatenated": ("jelly", "x", "must be 'true' or 'false'"),
    "storageOptions": ("jelly", "[]", "must be a JSON object"),
    "versionAsOf": ("jelly-store", "", "must be a whole number of at least 0"),
    "compression": ("jelly", "x", "must be one of"),
    "restartEvery": ("jelly", "x", "must be a size"),
    "quotedTriples": ("jelly-patch", "x", "must be 'true' or 'false'"),
    "maxNameTableSize": ("jelly-patch", "7", "must be a whole number from 8 to 4096"),
    "maxPrefixTableSize": ("jelly", "5000", "must be a whole number from 0 to 4096"),
    "maxDatatypeTableSize": ("jelly", "-1", "must be a whole number from 0 to 256"),
}
SOURCES = (JellyDataSource, JellyPatchDataSource, JellyStoreDataSource)


def use(kind: str, options: dict[str, str], *, writes: bool) -> None:
    """Call what Spark calls before any task."""
    columns = ("kind", *POSITIONS) if kind == "jelly-patch" else POSITIONS
    schema = StructType([StructField(each, StringType()) for each in columns])
    source: Any = next(
        each(CaseInsensitiveDict(options))  # type: ignore[arg-type]
        for each in SOURCES
        if each.name() == kind
    )
    if writes:
        source.writer(schema, overwrite=False)
    else:
        source.reader(source.schema()).partitions()


def test_an_error_names_the_option_as_it_was_written(tmp_path: Path) -> None:
    reading, writing = ({option.name for option in each} for each in (READING, WRITING))
    assert INVALID.keys() == reading | writing
    for name, (kind, value, message) in INVALID.items():
        given = {"path": str(tmp_path), name: value}
        with pytest.raises(JellyError) as caught:
            use(kind, given, writes=name not in reading)
        assert str(caught.value).startswith(f"option {name} ")
        assert message in str(caught.value)


def test_the_documentation_has_all_options() -> None:
    rows = [line for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) == len(READING) + len(WRITING)
    for row, option in zip(rows, (*READING, *WRITING), strict=True):
        formats = ", ".join(f"`{each}`" for each in option.formats if "_" not in each)
        default = f"`{option.default}`" if option.default else "none"
        assert row.startswith(f"| `{option.name}` | {formats} | {default} | ")


@pytest.mark.parametrize("value", ["1048576", "1024k", "1 MiB", "1m"])
def test_sizes_have_units(value: str) -> None:
    given = {"maxPartitionBytes": value}
    assert Settings.of(READING, "jelly", given)["maxPartitionBytes"] == 1 << 20


@pytest.mark.parametrize(
    ("name", "kind", "writes", "message"),
    [
        ("sourceColums", "jelly", False, "did you mean sourceColumns?"),
        ("header", "jelly-patch", False, "did you mean headers?"),
        ("headers", "jelly", False, "jelly has no option 'headers'"),
        ("compression", "jelly-store", False, "jelly-store has no option 'compression': choose fr"),
        ("compresion", "jelly", True, "did you mean compression?"),
        ("blanknodes", "jelly", True, "jelly has no option 'blanknodes' for writing: choose fr"),
        ("timestampAsOf", "jelly-store", False, "jelly-store has no option 'timestampasof'"),
        ("provider", "jelly", True, "Spark's catalog does not pass the path"),
    ],
)
def test_misspelt_options_are_reported(name: str, kind: str, writes: bool, message: str) -> None:
    for value in ("x", ""):
        with pytest.raises(OptionsError) as caught:
            use(kind, {"path": "x", name: value}, writes=writes)
        assert message in str(caught.value)


def test_options_may_be_of_any_case(tmp_path: Path) -> None:
    given = {"PATH": str(tmp_path), "MAXPARTITIONBYTES": "1m", "headers": "true"}
    use("jelly-patch", given, writes=False)
    use("jelly", {"path": "x", "storageoptions": "{}", "Compression": "GZip"}, writes=True)


def test_one_path_is_written() -> None:
    assert given_path({"path": "a"}) == "a"
    with pytest.raises(OptionsError, match=r"give one path \(got a, b\)"):
        given_path({"paths": '["a", "b"]'})


# Terms in Arrow columns, taken apart and put together. No Spark

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMES = ("value", "kind", "datatype", "language")
STRUCT = pa.struct([(name, pa.string()) for name in NAMES])

TRIPLE = Triple(Iri("urn:s"), Iri("urn:p"), Literal("<x>"))
TERMS = {
    Iri("urn:s"): ("urn:s", "iri", None, None),
    Iri("urn:a b\\é"): ("urn:a b\\é", "iri", None, None),
    BlankNode("b.1"): ("b.1", "blank_node", None, None),
    Literal(""): ("", "literal", XSD + "string", None),
    Literal('a "b"\\\n\té😀\x00'): ('a "b"\\\n\té😀\x00', "literal", XSD + "string", None),
    Literal("\\u0041"): ("\\u0041", "literal", XSD + "string", None),
    Literal("x", "en-GB"): ("x", "literal", RDF + "langString", "en-GB"),
    Literal('"@en', "de"): ('"@en', "literal", RDF + "langString", "de"),
    Literal("1", None, XSD + "integer"): ("1", "literal", XSD + "integer", None),
    Literal('"^^<x>', None, "urn:a b"): ('"^^<x>', "literal", "urn:a b", None),
    TRIPLE: (term_text(TRIPLE), "triple", None, None),
}


def test_terms_come_apart_and_together() -> None:
    texts = pa.array([*map(term_text, TERMS), None, term_text(Iri("urn:s"))])
    split = split_terms(texts, STRUCT)
    expected = [dict(zip(NAMES, parts, strict=True)) for parts in TERMS.values()]
    assert split.to_pylist() == [*expected, None, expected[0]]
    assert join_terms(split).equals(texts)
    # Also of a slice, and of nothing.
    assert join_terms(split.slice(2, 3)).equals(texts.slice(2, 3))
    assert join_terms(split_terms(texts.slice(0, 0), STRUCT)).to_pylist() == []


@given(
    st.lists(
        st.one_of(
            st.builds(Literal, st.text()),
            st.builds(Literal, st.text(), st.just(None), st.text(min_size=1).map("urn:".__add__)),
            st.builds(Iri, st.text().map("urn:".__add__)),
        )
    )
)
def test_any_characters(terms: list[Iri | Literal]) -> None:
    texts = pa.array(list(map(term_text, terms)), pa.string())
    split = split_terms(texts, STRUCT)
    values = [term.value if isinstance(term, Iri) else term.lex for term in terms]
    assert split.field("value").to_pylist() == values
    assert join_terms(split).equals(texts)


def test_invalid_terms_are_rejected() -> None:
    for term, message in (
        ({"value": "x", "kind": "uri"}, r"kind of a term must be .*got 'uri'"),
        ({"value": "x"}, r"kind of a term must be .*got None"),
        ({"kind": "iri"}, "a term has no value"),
    ):
        with pytest.raises(TermError, match=message):
            join_terms(pa.array([term], STRUCT))

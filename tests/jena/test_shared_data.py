"""Files written by Apache Jena 4.5.0, read and written again; and round trips of real data."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from typing import Any

import pytest

from jelly_plugins import BlankNode, Literal, Triple
from jelly_plugins.codec.text.ntriples import parse_ntriples
from jelly_plugins.jena import JenaFormat, read

from ..ntriples import write_lines
from ..shared_data import shared
from .kernels import Kernel

FORMATS = list(JenaFormat)
XSD = "http://www.w3.org/2001/XMLSchema#"


def data_of(name: str) -> bytes:
    path = shared(f"data/{name}")
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def relabelled(statements: list[Any]) -> list[Any]:
    """Number the blank nodes of statements in the order in which they occur."""
    labels: dict[str, str] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return BlankNode(labels.setdefault(term.label, f"b{len(labels)}"))
        return term

    return [Triple._make(map(of, statement)) for statement in statements]


def by_value(statements: list[Any]) -> list[Any]:
    """Normalise statements: one lexical form for each number, and one datatype for all integers."""
    return [
        Triple(*statement[:2], number(statement[2]))
        for statement in relabelled(statements)
        # Numbers that Apache Jena's value forms have lost.
        if statement[2] != Literal("9" * 20, datatype=f"{XSD}integer")
        and statement[2] != Literal("7766279631452241919", datatype=f"{XSD}integer")
    ]


def number(term: Any) -> Any:
    if isinstance(term, Literal) and term.datatype in (f"{XSD}integer", f"{XSD}int"):
        return int(term.lex)
    if isinstance(term, Literal) and term.datatype in (f"{XSD}decimal", f"{XSD}double"):
        return float(term.lex)
    return term


@pytest.mark.parametrize("format", FORMATS)
def test_the_sequence_ontology_is_its_source(kernel: Kernel, format: JenaFormat) -> None:  # noqa: A002
    data = data_of(f"jena/so.{format}.gz")
    if kernel.name == "python":
        # Use a part only, because the file takes long; the order of rows is that of the lines.
        data = data[: len(data) // 8]
    source = list(parse_ntriples(data_of("so.nt.gz")))
    if kernel.name == "native":
        found = kernel.read(data, format)
        assert len(found) == 45_584
    else:
        found = whole_rows(kernel, data, format)
    assert relabelled(found) == relabelled(source[: len(found)])


def whole_rows(kernel: Kernel, data: bytes, format: JenaFormat) -> list[Any]:  # noqa: A002
    """Return the statements of truncated data."""
    reader = kernel.StatementReader(format)
    text, at = b"", 0
    while at < len(data):
        lines, stop = reader.read_text(data, at)
        text += lines
        if stop == at:
            break
        at = stop
    return list(parse_ntriples(text))


@pytest.mark.parametrize("name", ["g.rt", "g.rpb", "g.values.rt", "g.values.rpb"])
def test_the_small_graph(kernel: Kernel, name: str) -> None:
    found = kernel.read(data_of(f"jena/{name}"), JenaFormat(name.rsplit(".", 1)[1]))
    plain = kernel.read(data_of("jena/g.rt"), JenaFormat.THRIFT)
    assert len(found) == 13
    if "values" in name:
        assert by_value(found) == by_value(plain)
    else:
        assert found == plain


@pytest.mark.parametrize("name", ["g.rt", "g.rpb"])
def test_our_bytes_are_those_of_jena_with_prefixes(kernel: Kernel, name: str) -> None:
    data = data_of(f"jena/{name}")
    prefixes = {"ex": "http://example.org/", "xsd": XSD}
    writer = kernel.RowWriter(JenaFormat(name[2:]))
    statements = kernel.read(data, JenaFormat(name[2:]))
    opening = b"".join(writer.add_prefix(*each) for each in prefixes.items())
    lines = b"".join(write_lines(statements))
    assert opening + writer.add_lines(lines) == data


@pytest.mark.parametrize("format", FORMATS)
def test_our_bytes_are_those_of_jena(kernel: Kernel, format: JenaFormat) -> None:  # noqa: A002
    data = data_of(f"jena/so.{format}.gz")
    statements = whole_rows(kernel, data[: len(data) // 8], format)
    written = kernel.write(statements, format)
    assert len(written) > len(data) // 9
    assert data.startswith(written)
    if kernel.name == "native":
        text = kernel.text(data, format)
        assert kernel.lines(text, format) == data


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["so.nt.gz", "qudt-vocab.nt.gz", "weather"])
def test_real_data_there_and_back(kernel: Kernel, format: JenaFormat, name: str) -> None:  # noqa: A002
    if name == "weather":
        from jelly_plugins import read as read_jelly

        statements = read_jelly(shared("data/assist-iot-weather_100kt.jelly.gz"))
        text = b"".join(write_lines(statements))
    else:
        text = data_of(name)
    if kernel.name == "python":
        text = b"".join(text.splitlines(keepends=True)[:8000])
    rows = kernel.lines(text, format)
    # The lines are in the canonical form, except for characters whose escape is optional.
    assert kernel.text(rows, format) == canonical(text)
    found = kernel.read(rows, format, size=100_001)
    assert Counter(found) == Counter(parse_ntriples(text))
    assert kernel.write(found, format) == rows


def canonical(text: bytes) -> bytes:
    if not re.search(rb"\\[uU]", text):
        return text
    return b"".join(write_lines(parse_ntriples(text)))


def test_formats_are_detected_by_content() -> None:
    for name in ("g.rt", "g.rpb"):
        path = shared(f"data/jena/{name}")
        assert list(read(path)) == list(read(path.read_bytes()))
    assert sum(1 for _ in read(shared("data/jena/so.rt.gz"))) == 45_584

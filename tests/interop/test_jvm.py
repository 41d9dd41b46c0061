"""Exchange files with the JVM implementation (Jelly-JVM on Apache Jena).

Opt-in, because it downloads from Maven Central: ``JELLY_PLUGINS_JVM=1 pytest tests/interop``. Java
17 and Maven are needed. Maven Central has the Jelly-RDF part of Jelly-JVM, but not its Jelly-Patch
part. So the tests exchange patches as RDF Patch text with Jena's own reader and writer, and convert
them to Jelly-Patch and back here.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import BlankNode, Literal, PatchOptions, convert, read
from jelly_plugins.codec import PatchStreamType
from jelly_plugins.codec.text.ntriples import parse_nquads, parse_ntriples
from jelly_plugins.jena import read as read_rows
from jelly_plugins.jena import write as write_statements
from jelly_plugins.patch import END, OperationKind, PatchReader, read_patches, write_patches
from jelly_plugins.patch.writer import write_rows

from ..cli.command import jelly
from ..shared_data import shared
from .conftest import Jvm

FLAT = PatchStreamType.FLAT
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


def jena_label(label: str) -> str:
    """Return the label that Jena writes for a blank node's label."""
    return "B" + re.sub(r"[^A-WYZa-z0-9]", lambda found: _in_hexadecimal(found[0]), label)


def _in_hexadecimal(character: str) -> str:
    if character == "X":
        return "XX"
    wide = ord(character) > 0xFF
    raw = character.encode("utf-16-be" if wide else "latin-1")
    return "".join(f"X{byte:02X}" for byte in raw)


def in_jena(term: Any) -> Any:
    """Convert a term or a statement to the form in which Jena writes it."""
    if isinstance(term, BlankNode):
        return BlankNode(jena_label(term.label))
    if isinstance(term, tuple):
        return type(term)._make(map(in_jena, term))  # type: ignore[attr-defined]
    return in_one_form(term)


def in_one_form(term: Any) -> Any:
    """Normalise the literals of a term or a statement: Jena writes ``en-us`` as ``en-US``."""
    if isinstance(term, tuple):
        return type(term)._make(map(in_one_form, term))  # type: ignore[attr-defined]
    if isinstance(term, Literal) and term.langtag is not None:
        return Literal(term.lex, term.langtag.lower())
    if isinstance(term, Literal) and term.datatype == XSD_STRING:
        return Literal(term.lex)
    return term


def statements(path: Path) -> Counter[Any]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    parse = parse_nquads if ".nq" in path.name else parse_ntriples
    return Counter(map(in_one_form, parse(data)))


#: Formats that both write, and our readers.
READERS: dict[str, Any] = {"jelly": read, "rt": read_rows, "rpb": read_rows}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("name", ["so.nt.gz", "qudt-vocab.nt.gz"])
def test_triples(jvm: Jvm, name: str, form: str, tmp_path: Path) -> None:
    src = shared(f"data/{name}")
    ours, theirs, again = (tmp_path / f"{each}.{form}" for each in ("ours", "theirs", "again"))
    convert(src, ours)
    jvm("rdf", ours, tmp_path / "ours.nt")
    assert statements(tmp_path / "ours.nt") == Counter(map(in_jena, statements(src).elements()))
    # Jena changes labels of blank nodes once more in this step.
    jvm("rdf", src, theirs)
    jvm("rdf", theirs, tmp_path / "theirs.nt")
    found = list(READERS[form](theirs))
    assert Counter(map(in_jena, found)) == statements(tmp_path / "theirs.nt")
    if form == "jelly":
        assert jelly("validate", theirs).code == 0
    else:
        # The same terms in the same order give the same bytes.
        write_statements(found, again)
        assert again.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("form", READERS)
def test_a_stream_of_frames(jvm: Jvm, form: str, tmp_path: Path) -> None:
    src = shared("data/assist-iot-weather_100kt.jelly.gz")
    ours = tmp_path / f"weather.{form}"
    if form == "jelly":
        ours.write_bytes(gzip.decompress(src.read_bytes()))
    else:
        convert(src, ours)
    jvm("rdf", ours, tmp_path / "weather.nt")
    assert statements(tmp_path / "weather.nt") == Counter(map(in_jena, read(src)))


def test_quads(jvm: Jvm, tmp_path: Path) -> None:
    text = tmp_path / "quads.nq"
    text.write_text("".join(f"{line}\n" for line in QUADS))
    ours, theirs = tmp_path / "ours.jelly", tmp_path / "theirs.jelly"
    assert jelly("convert", text, "-o", ours).code == 0
    jvm("rdf", ours, tmp_path / "ours.nq")
    assert statements(tmp_path / "ours.nq") == Counter(map(in_jena, statements(text).elements()))
    jvm("rdf", text, theirs)
    assert sum(1 for _ in read(theirs)) == len(QUADS)


QUADS = [
    "<urn:s> <urn:p> <urn:o> <urn:g> .",
    '<urn:s> <urn:p> "x"@en <urn:g> .',
    '<urn:s> <urn:p> "tab\\t \\"quoted\\" \\\\ é😀" .',
    "_:b <urn:p> _:c <urn:h> .",
    '<urn:s> <urn:p> "7"^^<http://www.w3.org/2001/XMLSchema#integer> _:g .',
]


@pytest.mark.parametrize("name", ["quads-all-features-rdf11", "rdf-stax"])
def test_patches(jvm: Jvm, name: str, tmp_path: Path) -> None:
    src = shared(f"data/patch/{name}.rdfp")
    ours, back = tmp_path / "ours.rdfp", tmp_path / "back.rdfp"
    write_patches(read_patches(src), tmp_path / "ours.jellyp")
    write_patches(read_patches(tmp_path / "ours.jellyp"), ours)
    jvm("patch", ours, back)
    assert rows(back) == rows(ours) == rows(src)


def rows(path: Path) -> tuple[list[Any], list[Any]]:
    """Return the headers of a log, which are unordered in Jena, and its operations."""
    with PatchReader(path) as found:
        all_rows = list(found)
    headers = [row for row in all_rows if row.kind is OperationKind.HEADER]
    operations = [
        row for row in all_rows if row.kind not in (OperationKind.HEADER, OperationKind.END)
    ]
    return sorted(headers, key=str), operations


def test_quoted_triples_as_text(jvm: Jvm, tmp_path: Path) -> None:
    text = tmp_path / "quoted.nt"
    text.write_text('<urn:s> <urn:p> <<( <urn:a> <urn:b> "x"@en )>> .\n')
    ours = tmp_path / "ours.jelly"
    assert jelly("convert", text, "-o", ours).code == 0
    assert jelly("convert", ours, "-o", tmp_path / "ours.nt").code == 0
    jvm("rdf", tmp_path / "ours.nt", tmp_path / "theirs.nt")
    assert statements(tmp_path / "theirs.nt") == statements(text)
    assert jelly("convert", ours, "-o", tmp_path / "old.nt", "--notation", "rdf-star").code == 0
    with pytest.raises(AssertionError):
        jvm("rdf", tmp_path / "old.nt", tmp_path / "old.theirs.nt")


def test_an_empty_graph(jvm: Jvm, tmp_path: Path) -> None:
    (tmp_path / "empty.nt").write_bytes(b"")
    theirs = tmp_path / "theirs.jelly"
    jvm("rdf", tmp_path / "empty.nt", theirs)
    assert list(read(theirs)) == []
    validated = json.loads(jelly("validate", theirs, "--json").text)
    assert validated["valid"] is (theirs.stat().st_size > 0)


def test_language_tags_that_jena_rewrites(jvm: Jvm, tmp_path: Path) -> None:
    text = tmp_path / "tags.nt"
    text.write_text('<urn:s> <urn:p> "x"@en-us .\n')
    theirs = tmp_path / "theirs.jelly"
    jvm("rdf", text, theirs)
    found = jelly("validate", theirs, "--against", text)
    assert "statements: 1 missing, 1 unexpected" in found.text


def test_a_log_with_quoted_triples_split_at_its_headers(jvm: Jvm, tmp_path: Path) -> None:
    log = tmp_path / "log.rdfp"
    log.write_text(
        "H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <<( <urn:a> <urn:b> <_:c> )>> .\nTC .\nZ .\n"
        "H id <urn:2> .\nH prev <urn:1> .\nTX .\nD <urn:s> <urn:p> <urn:o> .\nTC .\n"
    )
    flat, ours = tmp_path / "flat.jellyp", tmp_path / "ours.rdfp"
    # One stream of type FLAT, as written by Jelly-JVM's reader of such a log.
    rows_of_all = [row for row in PatchReader(log) if row.kind is not OperationKind.END]
    write_rows([*rows_of_all, END], flat, options=PatchOptions(stream_type=FLAT, rdf_star=True))
    assert jelly("patch", "convert", flat, "-o", ours).code == 0
    assert ours.read_text() == log.read_text()
    jvm("patch", ours, tmp_path / "theirs.rdfp")
    assert rows(tmp_path / "theirs.rdfp")[1] == rows(ours)[1]

"""Names of files: what only writes Jelly rejects those of other formats."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib.util

from jelly_plugins import (
    Format,
    SourceError,
    convert,
    jena,
    messages,
    oxigraph,
    patch,
    read,
    sparql,
    write,
)
from jelly_plugins.io.sinks import check_jelly_name
from jelly_plugins.io.sources import format_named
from jelly_plugins.rdflib import load

from .writers import JELLY_WRITERS, triples

TRIPLES = triples(1)


@pytest.mark.parametrize("writer", JELLY_WRITERS)
def test_names_of_other_formats_are_rejected(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_bytes(b"before")
    with pytest.raises(SourceError, match=r"x\.nt: Jelly is written.* format nt: .*convert"):
        JELLY_WRITERS[writer](TRIPLES, path, None)
    assert path.read_bytes() == b"before"
    # An open file may have any name.
    with path.open("wb") as file:
        JELLY_WRITERS[writer](TRIPLES, file, None)
    assert len(list(read(path.read_bytes()))) == 1


@pytest.mark.parametrize("as_path", [str, Path])
def test_names_that_only_writing_jelly_accepts(as_path: Any) -> None:
    for name in ("x.jelly", "x.jelly.gz", "x", "x.bin", "x.nt.bak", "x.nt/y"):
        check_jelly_name(as_path(name))
    for name in ("x.ttl.gz", "x.NQ", "x.txtpb", "x.rt.ZST", "folder.jelly/x.xml"):
        with pytest.raises(SourceError, match="Jelly is written"):
            check_jelly_name(as_path(name))


NAMES = {
    Format.JELLY: ["jelly", "Jelly", "jelly-rdf", ".jelly", "application/x-jelly-rdf"],
    Format.N_TRIPLES: ["nt", "N-Triples", "nt11", "application/n-triples; charset=utf-8"],
    Format.N_QUADS: ["nq", "n-quads", "nquads", ".nquads", "application/n-quads"],
    Format.TURTLE: ["ttl", "turtle", "longturtle", "text/turtle", ".TTL"],
    Format.TRIG: ["trig", "TriG", "application/trig"],
    Format.RDF_XML: ["rdf", "xml", "pretty-xml", "RDF/XML", "owl", "application/rdf+xml"],
    Format.JSON_LD: ["jsonld", "json-ld", "JSON-LD", 'application/ld+json;profile="x"'],
    Format.RDF_THRIFT: ["rt", "rdf-thrift", "trdf", "application/rdf+thrift"],
    Format.RDF_PROTOBUF: ["rpb", "RDF Protobuf".replace(" ", "-"), "application/rdf+protobuf"],
}


@pytest.mark.parametrize("form", NAMES)
def test_names_of_formats(form: Format) -> None:
    for name in (form, *NAMES[form]):
        assert format_named(name) is form


def test_pyoxigraph_and_rdflib_names_of_formats() -> None:
    formats = pyoxigraph.RdfFormat
    for name in ("N_TRIPLES", "N_QUADS", "TURTLE", "TRIG", "RDF_XML", "JSON_LD"):
        assert format_named(getattr(formats, name)) is Format[name]
    assert format_named(formats.STREAMING_JSON_LD) is Format.JSON_LD
    for known in set(rdflib.util.SUFFIX_FORMAT_MAP.values()):
        if known not in ("n3", "trix", "rdfa", "hext", "patch", "jelly-plugins"):
            assert isinstance(format_named(known), Format), known


@pytest.mark.parametrize("name", ["turtel", "", "text/html", 3, None, b"ttl", SourceError])
def test_unknown_names_of_formats(name: Any) -> None:
    with pytest.raises(ValueError, match="is not one of the formats jelly, jelly-text, nt, nq"):
        format_named(name)


def test_every_function_takes_every_name() -> None:
    text = b"<urn:s> a <urn:o> ."
    for name in ("turtle", "text/turtle", ".ttl", Format.TURTLE, pyoxigraph.RdfFormat.TURTLE):
        out = io.BytesIO()
        assert convert(text, out, source_format=name, target_format=name).statements == 1
        assert convert([text], out, source_format=[name], target_format=name).statements == 1
        store = pyoxigraph.Store()
        oxigraph.load(store, text, format=name)
        assert oxigraph.dump(store, out, format=name, graph=None) == 1
        assert load(rdflib.Graph(), text, format=name) == 1


def test_notation3_is_named() -> None:
    with pytest.raises(SourceError, match=r"x.n3.gz: Notation3 is not supported; if .* turtle"):
        convert("x.n3.gz", io.BytesIO(), target_format="nt")
    with pytest.raises(ValueError, match="Notation3 is not supported"):
        convert(b"", io.BytesIO(), source_format="N3", target_format="nt")


@pytest.mark.parametrize("given", [b"x" * 9999, [b"x" * 9999] * 99, "<urn:x>\n" * 9999])
def test_messages_do_not_repeat_data_that_is_given_as_a_path_or_a_name(given: Any) -> None:
    file = io.BytesIO()
    name = str(given)
    calls: list[Callable[[], object]] = [
        lambda: convert(given, file, target_format="nt"),
        lambda: convert(b"", given, source_format="nt", target_format="nt"),
        lambda: convert(b"", file, source_format="nt", target_format=name),
        lambda: list(read(given)),
        lambda: write([], given),
        lambda: messages.read_messages(given),
        lambda: messages.write_messages([], file, format=name),
        lambda: jena.write([], given),
        lambda: jena.write([], file, format=name),
        lambda: sparql.write_results([], [], given),
        lambda: sparql.write_results([], [], file, format=name),
        lambda: patch.write_patches([], given),
        lambda: patch.write_patches([], file, format=name),
    ]
    for call in calls:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        # Paths may have some hundred characters.
        assert len(str(caught.value)) < 1100

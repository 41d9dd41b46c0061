"""The W3C's tests of N-Triples and N-Quads: RDF 1.1 (syntax) and RDF 1.2 N-Triples (syntax,
canonical form), run with every reader of these formats.

The tests accept base directions of RDF 1.2, but Jelly cannot represent them, so that the readers
reject them with that reason.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from jelly_plugins import PhysicalType, StreamOptions
from jelly_plugins.codec.common.terms import GenericFactory
from jelly_plugins.codec.rdf.decoder import Decoder
from jelly_plugins.codec.text import transcoding as text
from jelly_plugins.codec.text.ntriples import Dialect, Notation, parse_nquads, parse_ntriples
from jelly_plugins.errors import TextError

from ..ntriples import write_lines
from ..shared_data import SHARED, shared

rdflib = pytest.importorskip("rdflib")

MF: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
RDFT: Final = "http://www.w3.org/ns/rdftest#Test"

SUITES: Final = {
    # Number of tests by folder.
    "rdf-n-triples": 70,
    "rdf-n-quads": 87,
    "rdf12/rdf-n-triples/syntax": 29,
    "rdf12/rdf-n-triples/c14n": 41,
}


#: Has a language tag with a part of more than eight characters. The grammar of RDF 1.1 allows it,
#: and Wikipedia's tags, such as ``zh-classical``, are in many files.
RDF_1_1_ONLY: Final = ("ntriples-langdir-bad-4.nt",)


class Case(NamedTuple):
    """One test: its kind (``NTriplesPositiveSyntax``), its input and its expected output."""

    kind: str
    action: Path
    result: Path | None


def manifest(folder: str) -> Iterator[Case]:
    path = SHARED / "conformance/w3c" / folder / "manifest.ttl"
    if not path.exists():
        return
    graph = rdflib.Graph()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph.parse(path, format="turtle", publicID=path.as_uri())
    entries = next(graph.objects(None, rdflib.URIRef(MF + "entries")))
    for case in rdflib.collection.Collection(graph, entries):
        kind = str(graph.value(case, rdflib.RDF.type)).removeprefix(RDFT)
        action, result = (
            None if found is None else path.parent / str(found).rpartition("/")[2]
            for found in (graph.value(case, rdflib.URIRef(MF + n)) for n in ("action", "result"))
        )
        assert action is not None
        yield Case(kind, action, result)


def cases(*folders: str) -> list[Any]:
    found = [
        pytest.param(case, id=f"{folder}/{case.action.name}")
        for folder in folders
        for case in manifest(folder)
    ]
    absent = pytest.mark.skip(reason="the W3C's tests are not there (see JELLY_PLUGINS_SHARED)")
    return found or [pytest.param(None, marks=absent)]


#: Reads a file; returns the statements, and their text with triple terms in RDF 1.2 notation.
Read: TypeAlias = Callable[[Path, Dialect], tuple[list[Any], bytes]]


def is_quads(path: Path) -> bool:
    return path.suffix == ".nq"


def by_parser(path: Path, dialect: Dialect) -> tuple[list[Any], bytes]:
    parser = parse_nquads if is_quads(path) else parse_ntriples
    statements: list[Any] = list(parser(path.read_bytes(), dialect=dialect))
    return statements, b"".join(write_lines(statements, Notation.RDF_1_2))


def by_jelly(module: Any, size: int | None) -> Read:
    """Convert to Jelly and back to text, with chunks of ``size`` bytes or a single one."""

    def read(path: Path, dialect: Dialect) -> tuple[list[Any], bytes]:
        physical_type = PhysicalType.QUADS if is_quads(path) else PhysicalType.TRIPLES
        options = StreamOptions(physical_type=physical_type, rdf_star=True)
        data = path.read_bytes()
        encoder = module.TextEncoder(options, dialect=dialect)
        step = size or len(data) or 1
        frames = []
        for start in range(0, len(data), step):
            frames += encoder.feed(data[start : start + step])
        frames += encoder.finish()
        generic = Decoder(GenericFactory())
        decoder = module.TextDecoder(Notation.RDF_1_2)
        statements = [each for frame in frames for each in generic.decode(frame).statements]
        return statements, b"".join(chunk for frame in frames for chunk in decoder.decode(frame))

    return read


@pytest.fixture(params=["parser", "python", "python, by byte", "native", "native, by byte"])
def read(request: pytest.FixtureRequest) -> Read:
    """Provide each reader in turn."""
    kernel, _, by_byte = request.param.partition(", ")
    if kernel == "parser":
        return by_parser
    module: Any = text
    if kernel == "native":
        module = pytest.importorskip(
            "jelly_plugins.codec._native",
            reason="the compiled kernel is not built",
            exc_type=ImportError,
        )
        assert (
            module.TextEncoder
            is not import_module("jelly_plugins.codec.text.transcoding").TextEncoder
        )
    return by_jelly(module, 1 if by_byte else None)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("case", cases("rdf-n-triples", "rdf-n-quads"))
def test_rdf_1_1(case: Case, dialect: Dialect, read: Read) -> None:
    if case.kind.endswith("PositiveSyntax"):
        assert read(case.action, dialect) == by_parser(case.action, dialect)
    else:
        assert case.kind.endswith("NegativeSyntax")
        with pytest.raises(TextError):
            read(case.action, dialect)


@pytest.mark.parametrize("case", cases("rdf12/rdf-n-triples/syntax", "rdf12/rdf-n-triples/c14n"))
def test_rdf_1_2(case: Case, read: Read) -> None:
    if case.action.name in RDF_1_1_ONLY:
        assert read(case.action, Dialect.RDF_1_2)[0]
        return
    if case.kind.endswith("NegativeSyntax"):
        with pytest.raises(TextError):
            read(case.action, Dialect.RDF_1_2)
        return
    if re.search(rb"--(?:ltr|rtl)", case.action.read_bytes()):
        for dialect in (Dialect.RDF_1_2, Dialect.RDF_STAR):
            with pytest.raises(TextError, match="Jelly cannot carry the base direction"):
                read(case.action, dialect)
        return
    statements, written = read(case.action, Dialect.RDF_1_2)
    assert (statements, written) == by_parser(case.action, Dialect.RDF_1_2)
    assert read(case.action, Dialect.RDF_STAR) == (statements, written)
    if case.kind.endswith("C14N"):
        assert case.result is not None
        assert with_lower_case_tags(written) == case.result.read_bytes()
    else:
        assert case.kind.endswith("PositiveSyntax")


def with_lower_case_tags(lines: bytes) -> bytes:
    """Convert language tags to lower case as in the canonical form; readers keep their case."""
    return re.sub(rb'"@[A-Za-z0-9-]+', lambda tag: tag[0].lower(), lines)


def test_every_suite_was_found() -> None:
    shared("conformance/w3c")
    assert {folder: len(list(manifest(folder))) for folder in SUITES} == SUITES

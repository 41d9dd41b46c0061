"""Exchange RDF Thrift, RDF Protobuf, results and binary patches with Apache Jena itself.

Opt-in, see ``conftest``. ``JELLY_PLUGINS_W3C`` may be a folder with further tests of the W3C,
including Turtle and TriG.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from jelly_plugins import JellyError, Literal
from jelly_plugins.codec import DEFAULT_GRAPH, DEFAULT_LIMITS
from jelly_plugins.codec.text.ntriples import Dialect, LineParser
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.settings import ConversionSettings
from jelly_plugins.io.sources import Format, format_of
from jelly_plugins.jena import JenaFormat, JenaReader
from jelly_plugins.jena import read as read_rows
from jelly_plugins.jena import write as write_rows
from jelly_plugins.oxigraph import read_solutions, write_solutions
from jelly_plugins.patch import read_patches, write_patches
from jelly_plugins.sparql import read_results, write_results

from ..shared_data import shared
from .conftest import Interop, Jvm
from .test_jvm import in_jena, in_one_form, rows, statements

FORMATS = list(JenaFormat)


@pytest.mark.parametrize("form", FORMATS)
def test_value_forms(jvm: Jvm, form: JenaFormat, tmp_path: Path) -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    text = tmp_path / "numbers.nt"
    numbers = [("7", "integer"), ("-12", "integer"), ("2.5", "decimal"), ("1.0E10", "double")]
    text.write_text("".join(f'<urn:s> <urn:p> "{lex}"^^<{xsd}{name}> .\n' for lex, name in numbers))
    theirs, ours = tmp_path / f"theirs.{form}", tmp_path / f"ours.{form}"
    jvm("values", text, theirs)
    found = list(read_rows(theirs))
    assert [each.object for each in found] == [
        Literal(lex, datatype=f"{xsd}{name}") for lex, name in numbers
    ]
    write_rows(found, ours)
    jvm("rdf", ours, tmp_path / "back.nt")
    assert len(statements(tmp_path / "back.nt")) == 4


def test_prefixes_as_jena_writes_them(jvm: Jvm, tmp_path: Path) -> None:
    text = tmp_path / "prefixes.ttl"
    text.write_text(
        "@prefix e: <http://e/> . @prefix x: <http://x#> . @base <http://b/> .\n"
        "e:a x:p e:b, <http://e/a/b>, <http://x#>, <http://e/a#b>, <r>, 'l'^^x:d, 'é'@en-gb .\n"
    )
    for each in FORMATS:
        theirs, ours = tmp_path / f"theirs.{each}", tmp_path / f"ours.{each}"
        jvm("rdf", text, theirs)
        with JenaReader(theirs) as batches:
            found = [statement for batch in batches for statement in batch.statements]
            prefixes = batches.prefixes
        write_rows(found, ours, namespaces=prefixes)
        if each is JenaFormat.THRIFT:
            assert prefixes == {"e": "http://e/", "x": "http://x#"}
            assert ours.read_bytes() == theirs.read_bytes()
        jvm("rdf", ours, tmp_path / "back.nt")
        assert statements(tmp_path / "back.nt") == Counter(map(in_jena, found))


# The W3C's tests


def sources() -> list[Path]:
    """Return all available files of statements, including invalid ones."""
    folders = [shared("conformance/w3c")]
    if more := os.environ.get("JELLY_PLUGINS_W3C"):
        folders.append(Path(more))
    return sorted(
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".nt", ".nq", ".ttl", ".trig") and path.name != "manifest.ttl"
    )


def parsed(path: Path, *, relative_iris: bool = False) -> list[Any]:
    """Read the statements of a file with this package's parsers.

    :param relative_iris: whether to accept relative IRIs, which Jena's output may contain.
    """
    found = format_of(path.name)
    assert found is not None
    if found in (Format.N_TRIPLES, Format.N_QUADS):
        parser = LineParser(
            Dialect.RDF_STAR,
            False,
            relative_iris,
            DEFAULT_LIMITS,
            quads=found is Format.N_QUADS,
            base_directions=True,
        )
        return list(parser.parse(path.read_bytes()))
    with closing(
        read_statements(path, found, ConversionSettings(base="http://example.org/base/"))
    ) as text:
        return list(text)


def in_graphs(found: list[Any], form: Callable[[Any], Any] = in_jena) -> Counter[Any]:
    """Convert statements to the form in which Jena writes them as N-Quads, without the default
    graph.
    """
    return Counter(
        tuple(each[:3] if each[-1] is DEFAULT_GRAPH else each) for each in map(form, found)
    )


def batch(interop: Interop, folder: Path, jobs: list[tuple[str, Path, Path]]) -> list[str]:
    """Run many tasks in one process of Jena; return its output for each."""
    lines = folder / "jobs"
    lines.write_text("".join(f"{what}\t{src}\t{dst}\n" for what, src, dst in jobs))
    said = interop("batch", lines).splitlines()
    assert len(said) == len(jobs)
    return said


@pytest.mark.parametrize("form", FORMATS)
def test_we_read_every_file_that_jena_writes(
    interop: Interop, form: JenaFormat, tmp_path: Path
) -> None:
    jobs: list[tuple[str, Path, Path]] = []
    found = sources()
    for number, path in enumerate(found):
        jobs.append(("rdf", path, tmp_path / f"{number}.{form}"))
        jobs.append(("rdf", tmp_path / f"{number}.{form}", tmp_path / f"{number}.nq"))
    said = batch(interop, tmp_path, jobs)
    read_count = 0
    for number, path in enumerate(found):
        if said[2 * number] != "done" or said[2 * number + 1] != "done":
            continue
        statements_ = list(read_rows(tmp_path / f"{number}.{form}"))
        assert in_graphs(statements_) == in_graphs(
            parsed(tmp_path / f"{number}.nq", relative_iris=True), in_one_form
        ), path
        read_count += 1
    print(f"\n{form}: of {len(found)} files Jena wrote {read_count}, and we read them all")
    assert read_count > 100


@pytest.mark.parametrize("form", FORMATS)
def test_jena_reads_every_file_of_ours(interop: Interop, form: JenaFormat, tmp_path: Path) -> None:
    jobs: list[tuple[str, Path, Path]] = []
    expected = []
    for number, path in enumerate(sources()):
        try:
            found = parsed(path)
        except JellyError:
            continue
        write_rows(found, tmp_path / f"{number}.{form}")
        jobs.append(("rdf", tmp_path / f"{number}.{form}", tmp_path / f"{number}.nq"))
        expected.append((path, found))
    said = batch(interop, tmp_path, jobs)
    failed = [
        (path, answer) for (path, _), answer in zip(expected, said, strict=True) if answer != "done"
    ]
    print(f"\n{form}: we wrote {len(jobs)} files, of which Jena rejected {len(failed)}: {failed}")
    for (path, found), (_, _, back), answer in zip(expected, jobs, said, strict=True):
        if answer == "done":
            assert in_graphs(parsed(back, relative_iris=True), in_one_form) == in_graphs(found), (
                path
            )
    assert not failed
    assert len(jobs) > 100


# Results and patches


@pytest.mark.parametrize("form", ["srt", "srp"])
def test_results(jvm: Jvm, form: str, tmp_path: Path) -> None:
    store = pyoxigraph.Store()
    text = b'<urn:s> <urn:p> "x"@en, _:b, 1 .'
    store.extend(pyoxigraph.parse(text, pyoxigraph.RdfFormat.TURTLE))
    query = "SELECT ?s ?o ?none { ?s ?p ?o OPTIONAL { ?o <urn:no> ?none } }"
    ours, theirs = tmp_path / f"ours.{form}", tmp_path / f"theirs.{form}"
    write_solutions(store.query(query), ours)
    jvm("results", ours, tmp_path / "ours.srj")
    answers = json.loads((tmp_path / "ours.srj").read_text())
    assert len(answers["results"]["bindings"]) == 3
    jvm("results", tmp_path / "ours.srj", theirs)
    assert len(list(read_solutions(theirs))) == 3
    with read_results(theirs) as results:
        write_results(results.variables, results, tmp_path / f"again.{form}")
    assert (tmp_path / f"again.{form}").read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("name", ["quads-all-features-rdf11", "rdf-stax"])
def test_binary_patches(jvm: Jvm, name: str, tmp_path: Path) -> None:
    src = shared(f"data/patch/{name}.rdfp")
    theirs, ours = tmp_path / "theirs.trp", tmp_path / "ours.trp"
    jvm("patch", src, theirs)
    assert numbered(rows(theirs)) == numbered(rows(src))
    write_patches(read_patches(theirs), ours)
    assert ours.read_bytes() == theirs.read_bytes()
    jvm("patch", ours, tmp_path / "back.rdfp")
    assert numbered(rows(tmp_path / "back.rdfp")) == numbered(rows(src))


def numbered(found: object) -> str:
    """Number the blank nodes of rows in order, because the labels in Jena's text differ from its
    nodes'.
    """
    labels: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return labels.setdefault(match[0], f"node {len(labels)}")

    return re.sub(r"BlankNode\(label='[^']*'\)", number, str(found))

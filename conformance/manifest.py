"""Read manifests of test suites. They use the vocabulary of the official suite and a few terms of
our own; ``README.md`` lists both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from rdflib import RDF, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection

JELLYT: Final = Namespace("https://w3id.org/jelly/dev/tests/vocab#")
MF: Final = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
#: Our own vocabulary.
OURS: Final = Namespace("https://jelly-plugins.example/tests/vocab#")


class ManifestError(Exception):
    """A manifest that cannot be read."""


class Task(StrEnum):
    """The task of a case."""

    FROM_JELLY = "TestRdfFromJelly"
    TO_JELLY = "TestRdfToJelly"
    PATCH_FROM_JELLY = "TestPatchFromJelly"
    PATCH_TO_JELLY = "TestPatchToJelly"
    RESULTS_FROM_JELLY = "TestResultsFromJelly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test.

    :ivar iri: the case's IRI in the manifest.
    :ivar name: its short name.
    :ivar title: its title.
    :ivar positive: whether the case must succeed; otherwise it must be rejected.
    :ivar actions: input files: the stream, or the options and then the statements of each frame or
        the rows of each patch.
    :ivar results: expected statements of each frame, or rows of each patch.
    :ivar requires: its requirements, as local names of ``mf:requires``.
    :ivar namespaces: expected or given declarations: frame, name, IRI. None if the manifest has
        none, likewise for the next three.
    :ivar metadata: expected or given entries: frame, key, value.
    :ivar graphs: graphs that start, as frame and IRI (or blank node label after ``_:``, or an empty
        string for the default graph).
    :ivar delimited: whether the stream is delimited.
    :ivar rejected_at: frame and row of the expected error; for results only the frame.
    """

    iri: str
    name: str
    title: str
    task: Task
    positive: bool
    actions: tuple[Path, ...]
    results: tuple[Path, ...]
    requires: frozenset[str]
    namespaces: tuple[tuple[int, str, str], ...] | None = None
    metadata: tuple[tuple[int, str, bytes], ...] | None = None
    graphs: tuple[tuple[int, str], ...] | None = None
    delimited: bool | None = None
    rejected_at: tuple[int, ...] | None = None


def read_suite(folder: Path) -> list[Case]:
    """Read every manifest in a folder and below it.

    :raises ManifestError: the folder has no manifest, or one that cannot be read.
    """
    manifests = sorted(folder.rglob("manifest.ttl"))
    if not manifests:
        raise ManifestError(f"{folder}: no manifest.ttl in this folder or below it")
    return [case for manifest in manifests for case in read_manifest(manifest)]


def read_manifest(path: Path) -> list[Case]:
    """Read the cases of a manifest, in its order.

    :raises ManifestError: the manifest is not Turtle, or uses an unknown term.
    """
    graph = Graph()
    try:
        graph.parse(path, format="turtle")
    except Exception as error:
        # rdflib's parser has no common error type.
        raise ManifestError(f"{path}: {error}") from error
    manifest = graph.value(None, RDF.type, MF.Manifest)
    entries = graph.value(manifest, MF.entries)
    if manifest is None or entries is None:
        raise ManifestError(f"{path}: no mf:Manifest with mf:entries")
    reader = _Reader(graph, path, str(manifest).rpartition("/")[0] + "/")
    return [reader.case(entry) for entry in Collection(graph, entries)]


class _Reader:
    """Reads the cases of one manifest.

    :param base: the prefix of file IRIs that denotes the manifest's folder.
    """

    def __init__(self, graph: Graph, path: Path, base: str) -> None:
        self._graph = graph
        self._path = path
        self._base = base

    def case(self, entry: Any) -> Case:
        graph = self._graph
        types = set(graph.objects(entry, RDF.type))
        positive = JELLYT.TestPositive in types
        tasks = [task for task in Task if types & {JELLYT[task], OURS[task]}]
        if len(tasks) != 1 or positive is (JELLYT.TestNegative in types):
            raise ManifestError(f"{self._path}: {entry} is of no kind of test that is known here")
        delimited = graph.value(entry, OURS.delimited)
        rejected_at = self._tuples(entry, OURS.rejectedAt)
        return Case(
            iri=str(entry),
            name=f"{self._path.parent.name}/{self._relative(entry)}",
            title=str(graph.value(entry, MF.name)),
            task=tasks[0],
            positive=positive,
            actions=tuple(self._files(entry, MF.action)),
            results=tuple(self._files(entry, MF.result)),
            requires=frozenset(
                str(requirement).rpartition("#")[2]
                for requirement in graph.objects(entry, MF.requires)
            ),
            namespaces=self._tuples(entry, OURS.namespaces),
            metadata=self._tuples(entry, OURS.metadata),
            graphs=self._tuples(entry, OURS.graphs),
            delimited=None if delimited is None else delimited.toPython(),
            rejected_at=None if rejected_at is None else rejected_at[0],
        )

    def _relative(self, iri: Any) -> str:
        return str(iri).removeprefix(self._base)

    def _files(self, entry: Any, predicate: URIRef) -> Iterator[Path]:
        """Yield the file, or each file of the list, that a case has for a predicate."""
        value = self._graph.value(entry, predicate)
        if value is None:
            return
        for iri in [value] if isinstance(value, URIRef) else Collection(self._graph, value):
            file = self._path.parent / unquote(self._relative(iri))
            if not file.is_file():
                raise ManifestError(f"{self._path}: {file} is not there")
            yield file

    def _tuples(self, entry: Any, predicate: URIRef) -> tuple[Any, ...] | None:
        """Read a list of lists of literals; a single list is read as a list of one."""
        value = self._graph.value(entry, predicate)
        if value is None:
            return None
        items = list(Collection(self._graph, value))
        if items and all(self._graph.value(item, RDF.first) is None for item in items):
            items = [value]
        return tuple(
            tuple(
                part.toPython() if isinstance(part, Literal) else str(part)
                for part in Collection(self._graph, item)
            )
            for item in items
        )

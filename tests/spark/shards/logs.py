"""Logs to apply, and what is to come of them: the replay into a single store."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyoxigraph import Quad as StoredQuad
from pyoxigraph import Store

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple
from jelly_plugins.oxigraph import BOOKKEEPING, replay
from jelly_plugins.oxigraph.rows import text_of
from jelly_plugins.patch import (
    ABORT,
    BEGIN,
    COMMIT,
    Operation,
    Patch,
    add,
    add_namespace,
    delete,
    write_patches,
)
from jelly_plugins.spark.shards import Applied, ShardedStore, apply_patches, verify

XSD = "http://www.w3.org/2001/XMLSchema#"


def quad(subject: str, object_: object = "o", graph: object = DEFAULT_GRAPH) -> Quad:
    """A quad; names with ``_:`` are blank nodes, objects are IRIs only if they are terms."""
    s = BlankNode(subject[2:]) if subject.startswith("_:") else Iri(f"urn:{subject}")
    o = Literal(object_) if isinstance(object_, str) else object_
    g = Iri(f"urn:{graph}") if isinstance(graph, str) else graph
    return Quad(s, Iri("urn:p"), o, g)


def patch(number: int, operations: Iterable[Operation], *, prev: bool = True) -> Patch:
    headers = [("id", Iri(f"urn:patch:{number}"))]
    if prev and number:
        headers.append(("prev", Iri(f"urn:patch:{number - 1}")))
    return Patch(operations, headers)


class Writer:
    """Makes patches that add, delete, abort and repeat, all from one seed."""

    def __init__(self, seed: int = 0, subjects: int = 40) -> None:
        self.random = random.Random(seed)
        self.subjects = subjects
        self.number = 0

    def _quad(self) -> Quad:
        pick = self.random.choice
        n = self.random.randrange
        subject = pick([Iri(f"urn:s{n(self.subjects)}"), BlankNode(f"b{n(self.subjects)}")])
        object_ = pick(
            [
                Iri(f"urn:o{n(5)}"),
                BlankNode(f"b{n(self.subjects)}"),
                Literal(f'tab\t, quote ", é {n(5)}'),
                Literal("x", "en-GB"),
                # Two forms of one literal of the store's.
                Literal(pick(["1", "01"]), None, XSD + "integer"),
                Triple(BlankNode("b1"), Iri("urn:p"), Literal("in")),
            ]
        )
        graph = pick([DEFAULT_GRAPH, Iri("urn:g"), BlankNode("g")])
        return Quad(subject, Iri(f"urn:p{n(2)}"), object_, graph)

    def _operations(self, count: int) -> list[Operation]:
        return [self.random.choice([add, add, delete])(self._quad()) for _ in range(count)]

    def patch(self, operations: int = 30) -> Patch:
        """A patch of three transactions, one of them aborted, and operations outside of any."""
        part = operations // 3
        rows = [
            *(BEGIN, *self._operations(part), COMMIT),
            *(BEGIN, *self._operations(5), ABORT),
            *self._operations(part),
            *(BEGIN, add_namespace("ex", Iri(f"urn:{self.number}"), DEFAULT_GRAPH)),
            *(*self._operations(part), COMMIT),
        ]
        made = patch(self.number, rows)
        self.number += 1
        return made


def log_file(path: Path, patches: Iterable[Patch]) -> str:
    write_patches(patches, str(path))
    return str(path)


def apply(root: object, *sources: object, shards: int | None = None, **settings: Any) -> Applied:
    """Apply a log on this machine, to three shards by default."""
    if shards is None and not any(Path(str(root)).glob("_versions/*")):
        shards = 3
    return apply_patches(None, list(sources), root, shards=shards, **settings)  # type: ignore[arg-type]


def replayed(*logs: object) -> set[StoredQuad]:
    """The quads that a single store has after these logs."""
    store = Store()
    for log in logs:
        # Random logs delete statements that are not there.
        replay(store, log, check_blank_nodes=False)  # type: ignore[arg-type]
    return {each for each in store if each.graph_name != BOOKKEEPING}


def quads(root: object, version: int | None = None) -> list[StoredQuad]:
    return list(ShardedStore(root, version=version))  # type: ignore[arg-type]


def assert_same(root: object, expected: set[StoredQuad]) -> None:
    """The shards have exactly these quads, each of them once and in the right place."""
    store = ShardedStore(root)  # type: ignore[arg-type]
    found = list(store)
    assert len(found) == len(set(found)) == len(store)
    assert set(found) == expected
    assert all(quad in store for quad in found)
    assert verify(root) == []  # type: ignore[arg-type]


def solutions(store: Store, query: str) -> Iterator[dict[str, str | None]]:
    """The solutions of a query in one store, as sharded ones give them."""
    found: Any = store.query(query)
    names = [variable.value for variable in found.variables]
    for solution in found:
        terms = zip(names, solution, strict=True)
        yield {name: None if term is None else text_of(term) for name, term in terms}

"""Input for encoders: terms, statements and operations, some of which cannot be written."""

from __future__ import annotations

import random
from typing import Any

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    Operation,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
)
from jelly_plugins.codec.patch.operations import ABORT, BEGIN, COMMIT, END, Header, Namespace

_XSD = "http://www.w3.org/2001/XMLSchema#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#: Those of XML Schema are as long as ``string``, and as others that have special code.
_DATATYPES = (
    *(f"urn:type{number}" for number in range(6)),
    *(_XSD + name for name in ("double", "gMonth", "integer", "string")),
    *(_RDF + name for name in ("langString", "dirLangString", "HTML")),
)

_ADD = OperationKind.ADD
_DELETE = OperationKind.DELETE


class Terms:
    """Terms of every kind: few enough to recur, and some of them invalid."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._pool: list[Any] = []

    def text(self) -> str:
        rng = self.rng
        sizes = (0, 1, 3, 3, 5, 8, 130) if rng.random() < 0.97 else (700, 1500)
        alphabet = "aab/#é€😀\ud800" if rng.random() < 0.02 else "aaab/#:é€😀"
        return "".join(rng.choices(alphabet, k=rng.choice(sizes)))

    def iri(self) -> Iri:
        rng = self.rng
        namespaces = ("http://a/", "http://b#", "urn:x:", "http://é/", "")
        return Iri(rng.choice(namespaces) + rng.choice((str(rng.randrange(40)), self.text())))

    def literal(self) -> Literal:
        rng = self.rng
        kind = rng.randrange(3)
        if kind == 0:
            return Literal(self.text())
        if kind == 1:
            return Literal(self.text(), rng.choice(("en", "de-AT", "")))
        return Literal(self.text(), None, rng.choice(_DATATYPES))

    def new(self, position: int, depth: int = 0) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.02:
            return rng.choice((None, "text", 7, (), DEFAULT_GRAPH, Triple, [1]))
        if kind < 0.08 and depth < 4:
            return Triple(*(self.any(inner, depth + 1) for inner in range(3)))
        if position == 3 and kind < 0.3:
            return DEFAULT_GRAPH
        if position != 1 and kind < 0.35:
            return BlankNode(rng.choice(("a", "b", self.text())))
        if (position == 2 and kind < 0.7) or kind > 0.99:
            return self.literal()
        return self.iri()

    def any(self, position: int, depth: int = 0) -> Any:
        if self._pool and self.rng.random() < 0.3:
            return self.rng.choice(self._pool)
        term = self.new(position, depth)
        self._pool.append(term)
        del self._pool[:-30]
        return term

    def statement(self, width: int, before: tuple[Any, ...] | None) -> tuple[Any, ...]:
        rng = self.rng
        if rng.random() < 0.01:
            width = 7 - width
        terms = [
            before[position]
            if before is not None and position < len(before) and rng.random() < 0.4
            else self.any(position)
            for position in range(width)
        ]
        return rng.choice((tuple, {3: Triple, 4: Quad}[width]._make))(terms)


def random_options(rng: random.Random) -> StreamOptions:
    return StreamOptions(
        physical_type=rng.choice(list(PhysicalType)),
        generalized_statements=rng.random() < 0.4,
        rdf_star=rng.random() < 0.6,
        max_name_table_size=rng.choice((8, 9, 12, 64, 4000)),
        max_prefix_table_size=rng.choice((0, 1, 2, 3, 16)),
        max_datatype_table_size=rng.choice((0, 1, 3, 16)),
        version=rng.choice((0, 1, 2)),
    )


def random_restarts(rng: random.Random) -> dict[str, Any]:
    """Choose how often an encoder writes restart points."""
    return {"restart_every": rng.choice((1, 80, 400))} if rng.random() < 0.3 else {}


def random_steps(rng: random.Random, options: StreamOptions) -> list[tuple[Any, ...]]:
    """Choose calls to an encoder: names of methods, with their arguments."""
    terms = Terms(rng)
    width = 3 if options.physical_type is PhysicalType.TRIPLES else 4
    steps: list[tuple[Any, ...]] = []
    before = None
    for _ in range(rng.randrange(1, 6)):
        kind = rng.random()
        if kind < 0.1:
            steps.append(("add_namespace", terms.text(), f"urn:{terms.text()}#"))
        elif kind < 0.2:
            steps.append(("flush", rng.choice(({}, {"key": b"value"}, {"": b""}))))
        elif kind < 0.25:
            steps.append(("start_graph", terms.any(3)))
        elif kind < 0.3:
            steps.append(("restart",))
        else:
            batch = []
            for _ in range(rng.randrange(12)):
                before = terms.statement(width, before)
                batch.append(before)
            steps.append(("add", batch))
    return steps


def random_patch_options(rng: random.Random) -> PatchOptions:
    return PatchOptions(
        statement_type=rng.choice(list(PatchStatementType)),
        stream_type=rng.choice(list(PatchStreamType)),
        generalized_statements=rng.random() < 0.4,
        rdf_star=rng.random() < 0.6,
        max_name_table_size=rng.choice((8, 9, 12, 64, 4000)),
        max_prefix_table_size=rng.choice((0, 1, 2, 3, 16)),
        max_datatype_table_size=rng.choice((0, 1, 3, 16)),
    )


def random_batches(rng: random.Random, options: PatchOptions) -> list[list[Any]]:
    """Make batches of operations, most of them in a valid order."""
    terms = Terms(rng)
    quads = options.statement_type is PatchStatementType.QUADS
    batches: list[list[Any]] = []
    inside = False
    before: tuple[Any, ...] | None = None
    for _ in range(rng.randrange(1, 8)):
        batch: list[Any] = []
        for _ in range(rng.randrange(16)):
            kind = rng.random()
            if kind < 0.75:
                before = terms.statement(4 if quads else 3, before)
                batch.append(Operation(rng.choice((_ADD, _DELETE)), before))
            elif kind < 0.82:
                graph = terms.any(3) if quads is (rng.random() < 0.97) else None
                iri = terms.iri() if rng.random() < 0.9 else rng.choice((None, terms.any(0)))
                row = rng.choice((OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE))
                batch.append(Operation(row, Namespace(terms.text(), iri, graph)))
            elif kind < 0.88:
                batch.append(Operation(OperationKind.HEADER, Header(terms.text(), terms.any(2))))
            elif rng.random() < 0.05:
                batch.append(rng.choice((BEGIN, COMMIT, ABORT, END)))
            elif inside:
                batch.append(rng.choice((COMMIT, ABORT)))
                inside = False
            else:
                batch.append(rng.choice((BEGIN, END)))
                inside = batch[-1] is BEGIN
        batches.append(batch)
    if rng.random() < 0.8:
        batches.append([COMMIT, END] if inside else [END])
    return batches

"""Whether two sequences of statements say the same, where blank node labels mean nothing.

Two questions, in generic terms of any kind: the same statements in the same order
(:func:`compare_streams`), or the same RDF dataset (:func:`compare_datasets`). Terms are equal if
they are so to the letter, and a triple is the same as a quad in the default graph. Both answers are
exact; neither rests on hashes alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import Any, Final, TypeAlias

from ..codec.common.terms import DEFAULT_GRAPH, BlankNode, Literal, Quad, Statement, Triple
from ..codec.text.ntriples import statement_text
from ..errors import LimitError, TermError

#: Statements that a result names on either side, at most.
SHOWN: Final = 10
#: Steps that the search for a renaming of blank nodes may take; some microseconds each.
SEARCH_STEPS: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found; true if both sides are equal.

    :ivar equal: whether they are.
    :ivar reason: what the difference is, in a line; empty if there is none.
    :ivar missing: some statements that were expected and not found, as N-Quads.
    :ivar unexpected: some statements that were found and not expected, as N-Quads.
    """

    equal: bool
    reason: str = ""
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.equal


EQUAL: Final = Comparison(True)

#: What sets terms apart that are the same for RDF: language tags are compared without regard to
#: case there, and other tools change it.
CASE_OF_TAGS: Final = "language tags differ in case"


def lower_cased(statement: Statement) -> Statement:
    """A statement with its language tags in lower case.

    >>> from jelly_plugins import Iri
    >>> lower_cased(Triple(Iri("urn:s"), Iri("urn:p"), Literal("x", "en-GB"))).object
    Literal(lex='x', langtag='en-gb', datatype=None)
    """
    if not any(isinstance(term, Literal | Triple) for term in statement):
        return statement
    terms = map(_lower_cased_term, statement)
    return Quad(*terms) if len(statement) == 4 else Triple(*terms)


def _lower_cased_term(term: Any) -> Any:
    if isinstance(term, Triple):
        return lower_cased(term)
    if isinstance(term, Literal) and term.langtag is not None:
        return Literal(term.lex, term.langtag.lower())
    return term


def compare_streams(expected: Iterable[Statement], found: Iterable[Statement]) -> Comparison:
    """Compare two streams: the same statements in the same order, as often as they stand there,
    with blank nodes mapped one to one over the whole stream.

    Neither side is held in memory, but for a table of blank nodes.

    >>> from jelly_plugins import Iri
    >>> one, other = (Triple(BlankNode(label), Iri("urn:p"), Iri("urn:o")) for label in "ab")
    >>> bool(compare_streams([one, one], [other, other]))
    True
    >>> compare_streams([one, one], [other, one]).reason
    'statement 1: blank node _:a is _:a, but was _:b before'
    """
    try:
        return _compare_in_order(expected, found)
    except RecursionError:
        raise _too_deep() from None


def _compare_in_order(expected: Iterable[Statement], found: Iterable[Statement]) -> Comparison:
    matching = _Matching()
    for number, (one, other) in enumerate(zip_longest(expected, found)):
        if one is None or other is None:
            side = "expected" if one is None else "found"
            reason = f"{_statements(number)} {side}, more are on the other side"
            return _difference(reason, [one] if one else [], [other] if other else [])
        differing = matching.statement(one, other)
        if differing is not None:
            return _difference(f"statement {number}: {differing}", [one], [other])
    return EQUAL


class _Matching:
    """Blank nodes that were found to stand for each other."""

    def __init__(self) -> None:
        self._forth: dict[BlankNode, BlankNode] = {}
        self._back: dict[BlankNode, BlankNode] = {}

    def statement(self, one: Statement, other: Statement) -> str | None:
        """Why two statements differ; None if they do not."""
        return self._parts(_quad(one), _quad(other))

    def _parts(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> str | None:
        for expected, found in zip(one, other, strict=True):
            if isinstance(expected, BlankNode) and isinstance(found, BlankNode):
                reason = self._blank_nodes(expected, found)
            elif isinstance(expected, Triple) and isinstance(found, Triple):
                reason = self._parts(expected, found)
            else:
                reason = None if expected == found else _apart(expected, found)
            if reason is not None:
                return reason
        return None

    def _blank_nodes(self, one: BlankNode, other: BlankNode) -> str | None:
        known = self._forth.setdefault(one, other)
        if known != other:
            return f"blank node _:{one.label} is _:{other.label}, but was _:{known.label} before"
        known = self._back.setdefault(other, one)
        if known != one:
            return f"blank node _:{other.label} stands for _:{known.label} and _:{one.label}"
        return None


def _apart(expected: Any, found: Any) -> str:
    """What sets two terms apart."""
    same = _lower_cased_term(expected) == _lower_cased_term(found)
    return CASE_OF_TAGS if same else "the terms differ"


def compare_datasets(
    expected: Iterable[Statement], found: Iterable[Statement], *, steps: int = SEARCH_STEPS
) -> Comparison:
    """Compare two RDF graphs or datasets: equal if renaming blank nodes makes them the same set of
    statements (RDF 1.1 Concepts, sections 3.6 and 4.1). Order and duplicates do not count.

    :param steps: bound of the search, which is exponential for graphs made to be hard and next to
        nothing for others.
    :raises LimitError: the search was given up.

    >>> from jelly_plugins import Iri
    >>> ring = [Triple(BlankNode(a), Iri("urn:p"), BlankNode(b)) for a, b in ("xy", "yz", "zx")]
    >>> bool(compare_datasets(ring, reversed(ring)))
    True
    >>> compare_datasets(ring, ring[:2]).reason
    '3 statements with blank nodes are expected, 2 are found'
    """
    try:
        return _compare_as_sets(expected, found, steps)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> LimitError:
    return LimitError("quoted triples are nested too deeply to be compared")


def _compare_as_sets(
    expected: Iterable[Statement], found: Iterable[Statement], steps: int
) -> Comparison:
    one, other = _split(expected), _split(found)
    comparison = _compare_split(one, other, steps)
    if comparison:
        return comparison
    lower, other_lower = (_split(map(lower_cased, chain(*side))) for side in (one, other))
    # That there is a difference is known already.
    with suppress(LimitError):
        if (lower, other_lower) != (one, other) and _compare_split(lower, other_lower, steps):
            return replace(comparison, reason=CASE_OF_TAGS)
    return comparison


#: The statements of a side: those without blank nodes, and the others.
_Side: TypeAlias = tuple[set[Quad], list[Quad]]


def _compare_split(expected: _Side, found: _Side, steps: int) -> Comparison:
    ground, statements = expected
    other_ground, other_statements = found
    missing = ground - other_ground
    unexpected = other_ground - ground
    if missing or unexpected:
        return _difference(
            f"{_statements(len(missing))} missing, {_are(len(unexpected))} unexpected",
            missing,
            unexpected,
        )
    graph = _Graph([statements, other_statements])
    if graph.refine():
        if len(statements) == len(other_statements) and graph.match(steps):
            return EQUAL
        reason = "no renaming of blank nodes makes both sides the same"
    else:
        reason = "statements with blank nodes differ"
    if len(statements) != len(other_statements):
        reason = (
            f"{_statements(len(statements), ' with blank nodes')} expected, "
            f"{_are(len(other_statements))} found"
        )
    return _difference(reason, *graph.differences())


def _statements(number: int, which: str = "") -> str:
    """A number of statements, and the verb for it.

    >>> _statements(1), _statements(2, " with blank nodes")
    ('1 statement is', '2 statements with blank nodes are')
    """
    noun = "statement" if number == 1 else "statements"
    return f"{number} {noun}{which} {'is' if number == 1 else 'are'}"


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def _quad(statement: Statement) -> Quad:
    return Quad._make(statement if len(statement) == 4 else (*statement, DEFAULT_GRAPH))


def _split(statements: Iterable[Statement]) -> _Side:
    """The statements as sets: those without blank nodes, and the others in their order."""
    ground: set[Quad] = set()
    others: dict[Quad, None] = {}
    for statement in statements:
        quad = _quad(statement)
        if any(map(_has_blank_node, quad)):
            others[quad] = None
        else:
            ground.add(quad)
    return ground, list(others)


def _has_blank_node(term: Any) -> bool:
    if isinstance(term, Triple):
        return any(map(_has_blank_node, term))
    return isinstance(term, BlankNode)


def _shape(term: Any, numbers: dict[BlankNode, int]) -> Hashable:
    """A term with numbers for its blank nodes, given in the order in which they stand."""
    if isinstance(term, BlankNode):
        return numbers.setdefault(term, len(numbers))
    if isinstance(term, Triple):
        return tuple(_shape(part, numbers) for part in term)
    return term  # type: ignore[no-any-return]


def _difference(
    reason: str, missing: Iterable[Statement], unexpected: Iterable[Statement]
) -> Comparison:
    shown = (tuple(map(_text, islice(side, SHOWN))) for side in (missing, unexpected))
    return Comparison(False, reason, *shown)


def _text(statement: Statement) -> str:
    try:
        return statement_text(statement)
    except TermError:
        return repr(statement)


class _Graph:
    """The statements of both sides that have blank nodes, as one graph of numbered vertices.

    A blank node is a vertex, and so is a statement with two of them and more; between the two an
    edge has the blank node's place in the statement. A statement with one blank node is part of
    that one's first colour. Two vertices of the same colour may stand for each other as far as is
    known; refining colours by those of the neighbours until nothing changes usually leaves each
    colour with one vertex of either side. What is left to a search is symmetric, or nearly.

    A colour is *balanced* if it has as many vertices on either side.
    """

    def __init__(self, sides: list[list[Quad]]) -> None:
        self._statements = sides
        #: By vertex: its side, edges as pairs of label and neighbour, and colour.
        self.side: list[int] = []
        self.edges: list[list[tuple[int, int]]] = []
        self.colour: list[int] = []
        self.members: dict[int, set[int]] = {}
        self.balanced = True
        #: By side, then statement: its shape and the vertices of its blank nodes.
        self._shaped: list[list[tuple[int, tuple[int, ...]]]] = []
        self._build()

    def _build(self) -> None:
        shapes: dict[Hashable, int] = {}
        first_colours: list[Any] = []

        def vertex(side: int, first_colour: Any) -> int:
            self.side.append(side)
            self.edges.append([])
            first_colours.append(first_colour)
            return len(self.side) - 1

        for side, statements in enumerate(self._statements):
            nodes: dict[BlankNode, int] = {}
            shaped = []
            for statement in statements:
                numbers: dict[BlankNode, int] = {}
                shape = tuple(_shape(term, numbers) for term in statement)
                shape_id = shapes.setdefault(shape, len(shapes))
                for node in numbers:
                    if node not in nodes:
                        nodes[node] = vertex(side, [])
                places = tuple(nodes[node] for node in numbers)
                shaped.append((shape_id, places))
                if len(places) == 1:
                    first_colours[places[0]].append(shape_id)
                else:
                    edge = vertex(side, shape_id)
                    for place, node_vertex in enumerate(places):
                        self.edges[edge].append((place, node_vertex))
                        self.edges[node_vertex].append((place, edge))
            self._shaped.append(shaped)
        colours: dict[Any, int] = {}
        for number, first_colour in enumerate(first_colours):
            key = tuple(sorted(first_colour)) if isinstance(first_colour, list) else first_colour
            colour = colours.setdefault(key, len(colours))
            self.colour.append(colour)
            self.members.setdefault(colour, set()).add(number)
        self._next_colour = len(colours)
        self.balanced = all(map(self.is_balanced, self.members.values()))

    def is_balanced(self, vertices: Iterable[int]) -> bool:
        return sum(1 if self.side[vertex] else -1 for vertex in vertices) == 0

    def refine(self) -> bool:
        """Refine all colours; stop, and return False, once one is not balanced."""
        if self.balanced:
            self.balanced = _Partition(self, self.members).refine(list(self.members))
        return self.balanced

    def new_colour(self) -> int:
        self._next_colour += 1
        return self._next_colour - 1

    def match(self, steps: int) -> bool:
        """Search for a mapping of vertices to those of the other side, by connected components.

        Being isomorphic is an equivalence, so that whichever partner a component finds is right.
        """
        groups: dict[tuple[int, ...], tuple[list[list[int]], list[list[int]]]]
        groups = defaultdict(lambda: ([], []))
        for component in self._components():
            key = tuple(sorted(self.colour[vertex] for vertex in component))
            groups[key][self.side[component[0]]].append(component)
        budget = _Budget(steps)
        for ours, theirs in groups.values():
            if len(ours) != len(theirs):
                return False
            for component in ours:
                for index, candidate in enumerate(theirs):
                    if self._isomorphic(component, candidate, budget):
                        del theirs[index]
                        break
                else:
                    return False
        return True

    def _components(self) -> Iterator[list[int]]:
        seen = [False] * len(self.side)
        for start in range(len(self.side)):
            if seen[start]:
                continue
            seen[start] = True
            component = [start]
            for vertex in component:
                for _, neighbour in self.edges[vertex]:
                    if not seen[neighbour]:
                        seen[neighbour] = True
                        component.append(neighbour)
            yield component

    def _isomorphic(self, one: list[int], other: list[int], budget: _Budget) -> bool:
        """Whether two components are isomorphic whose refined colours are the same.

        A search without recursion: each step of it makes a pair of vertices alike by a colour of
        their own, and undoes that when nothing comes of it.
        """
        if len(one) == 1:
            return True
        budget.spend(len(one))
        members: dict[int, set[int]] = {}
        for vertex in (*one, *other):
            members.setdefault(self.colour[vertex], set()).add(vertex)
        partition = _Partition(self, members, budget)
        choices: list[Iterator[tuple[int, int]]] = []
        while True:
            pairs = partition.pairs()
            if pairs is None:
                # One vertex of either side in each colour: that is the mapping, if it is one.
                if self._maps(one, members):
                    return True
            else:
                choices.append(pairs)
                partition.mark()
            while True:
                if not choices:
                    return False
                # Of what was tried before at this place.
                partition.undo()
                pair = next(choices[-1], None)
                if pair is None:
                    choices.pop()
                    partition.unmark()
                elif partition.individualise(*pair):
                    break

    def _maps(self, component: list[int], members: dict[int, set[int]]) -> bool:
        partner: dict[int, int] = {}
        for vertices in members.values():
            one, other = sorted(vertices, key=self.side.__getitem__)
            partner[one] = other
        for vertex in component:
            edges = sorted((label, partner[neighbour]) for label, neighbour in self.edges[vertex])
            if edges != sorted(self.edges[partner[vertex]]):
                return False
        return True

    def differences(self) -> tuple[list[Quad], list[Quad]]:
        """Statements of either side that have no counterpart, as far as colours tell; where they
        tell nothing, some that the two sides have."""
        kinds: list[Counter[tuple[int, ...]]] = []
        for shaped in self._shaped:
            kinds.append(
                Counter(
                    (shape, *(self.colour[vertex] for vertex in places)) for shape, places in shaped
                )
            )
        found: tuple[list[Quad], list[Quad]] = ([], [])
        for side, shaped in enumerate(self._shaped):
            surplus = kinds[side] - kinds[1 - side]
            for statement, (shape, places) in zip(self._statements[side], shaped, strict=True):
                kind = (shape, *(self.colour[vertex] for vertex in places))
                if surplus[kind] > 0:
                    surplus[kind] -= 1
                    found[side].append(statement)
        return found if any(found) else (self._statements[0], self._statements[1])


class _Budget:
    """Steps that are left to a search."""

    def __init__(self, steps: int) -> None:
        self._given = self._left = steps

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise LimitError(
                f"the blank nodes could not be compared within {self._given} steps of search"
            )


class _Partition:
    """The colours of some vertices, which can be refined and set back.

    :param graph: has the vertices and their colours, which change.
    :param members: the vertices by colour.
    :param budget: of the refinements; unbounded without.
    """

    def __init__(
        self, graph: _Graph, members: dict[int, set[int]], budget: _Budget | None = None
    ) -> None:
        self._graph = graph
        self._members = members
        self._budget = budget
        #: Splits made, as pairs of the new colour and the one it was split from.
        self._splits: list[tuple[int, int]] = []
        self._marks: list[int] = []
        #: Colours of more than one vertex of a side.
        self._open = {colour for colour, found in members.items() if len(found) > 2}

    def refine(self, queue: list[int]) -> bool:
        """Split colours by their neighbours, beginning with neighbours of the queue's colours,
        until neighbours tell nothing more.

        :return: False if a colour is no longer balanced; it stops there.
        """
        queued = set(queue)
        while queue:
            splitter = queue.pop()
            queued.discard(splitter)
            for colour, groups in self._reached(splitter).items():
                if sum(map(len, groups)) == len(self._members[colour]):
                    # All were reached alike, or one group keeps the colour.
                    groups.pop()
                if not groups:
                    continue
                parts = [self._split(group, colour) for group in groups]
                if not all(map(self._graph.is_balanced, groups)):
                    return False
                if colour not in queued:
                    # What the largest part tells follows from the others and from the whole.
                    parts.append(colour)
                    parts.remove(max(parts, key=lambda part: len(self._members[part])))
                queue += parts
                queued.update(parts)
        return True

    def _reached(self, splitter: int) -> dict[int, list[list[int]]]:
        """Neighbours of a colour's vertices: by colour, groups of those it is joined to alike."""
        edges = self._graph.edges
        colours = self._graph.colour
        labels: dict[int, list[int]] = {}
        for vertex in self._members[splitter]:
            for label, neighbour in edges[vertex]:
                labels.setdefault(neighbour, []).append(label)
        if self._budget is not None:
            self._budget.spend(len(self._members[splitter]) + len(labels))
        groups: dict[int, dict[tuple[int, ...], list[int]]] = {}
        for vertex, found in labels.items():
            found.sort()
            groups.setdefault(colours[vertex], {}).setdefault(tuple(found), []).append(vertex)
        return {colour: list(alike.values()) for colour, alike in groups.items()}

    def _split(self, vertices: list[int], colour: int) -> int:
        """Give some vertices of a colour a new one."""
        new = self._graph.new_colour()
        for vertex in vertices:
            self._graph.colour[vertex] = new
        self._members[new] = set(vertices)
        self._members[colour] -= self._members[new]
        self._splits.append((new, colour))
        self._note(new)
        self._note(colour)
        return new

    def _note(self, colour: int) -> None:
        if len(self._members[colour]) > 2:
            self._open.add(colour)
        else:
            self._open.discard(colour)

    def individualise(self, one: int, other: int) -> bool:
        """Give two vertices of the same colour a new one of their own, and refine."""
        return self.refine([self._split([one, other], self._graph.colour[one])])

    def pairs(self) -> Iterator[tuple[int, int]] | None:
        """Ways to choose a partner for some vertex; None if all have theirs."""
        if not self._open:
            return None
        side = self._graph.side
        vertices = sorted(self._members[next(iter(self._open))], key=side.__getitem__)
        first = vertices[0]
        return ((first, vertex) for vertex in vertices if side[vertex] != side[first])

    def mark(self) -> None:
        """Remember the state that :meth:`undo` goes back to."""
        self._marks.append(len(self._splits))

    def unmark(self) -> None:
        """Forget the last mark."""
        self._marks.pop()

    def undo(self) -> None:
        """Go back to the last mark."""
        while len(self._splits) > self._marks[-1]:
            new, colour = self._splits.pop()
            vertices = self._members.pop(new)
            self._open.discard(new)
            for vertex in vertices:
                self._graph.colour[vertex] = colour
            self._members[colour] |= vertices
            self._note(colour)

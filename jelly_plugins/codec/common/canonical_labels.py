"""Labels of blank nodes that depend on the statements alone, not on labels or order.

Two isomorphic datasets get the same labels, whichever parser read them. Nodes that are connected
through statements form a component. A label is a digest of the component, of the node's place in
it, and of a number if there are several equal components; so a change relabels the nodes of one
component only, and components of different files do not share labels unless they are equal.

The method is colour refinement: all nodes start with the same colour, which is then split by the
colours of their neighbours. Nodes with a unique colour count as constants, so that the rest may
separate into smaller components. If it does not, the graph is symmetric: the search singles out
each node of one colour in turn and takes the smallest result. It takes exponential time on
adversarial graphs and is therefore bounded.

Labels are stored and compared later, so the digests must not change between versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final

from ...errors import LimitError
from .terms import XSD_STRING, Describe, Kind

#: Number of statements that the search for labels of symmetric nodes may examine, at some
#: microseconds each.
SEARCH_STEPS: Final = 250_000
_SIZE: Final = 16
_START: Final = bytes(_SIZE)
#: Kinds of terms that are or may hold blank nodes.
_WITH_NODES: Final = (Kind.BLANK_NODE, Kind.TRIPLE)


def canonical_labels(
    statements: Iterable[tuple[Any, ...]], describe: Describe, *, steps: int = SEARCH_STEPS
) -> dict[str, str]:
    """Find the canonical label of each blank node, by its label in the statements.

    Language tags that differ in case only are the same, and so are strings with and without the
    datatype xsd:string, triples and quads in the default graph, and repeated statements.

    :param statements: triples or quads, of terms that ``describe`` knows.
    :param steps: the bound of the search in symmetric graphs.
    :raises LimitError: the blank nodes are too symmetric.

    >>> from jelly_plugins import BlankNode, Iri, Triple
    >>> from jelly_plugins.codec import describe
    >>> canonical_labels([Triple(BlankNode("x"), Iri("urn:p"), Iri("urn:o"))], describe)
    {'x': 'ba10a20a827f97d656dd05f6154a4409'}
    """
    graph = _Graph(steps)
    for statement in statements:
        terms = [describe(term) for term in statement]
        if any(term[0] in _WITH_NODES for term in terms):
            # The constant part, with numbers for the blank nodes, which follow in order.
            places: dict[str, int] = {}
            text = "".join([_text(term, describe, places) for term in terms])
            if places:
                graph.add(_digest(text.encode("utf-8", "surrogatepass")), places)
    try:
        return graph.labels()
    except RecursionError:
        raise too_symmetric(steps) from None


def too_symmetric(steps: int) -> LimitError:
    """The error for a graph whose search takes too long."""
    return LimitError(
        f"the blank nodes are too symmetric for canonical labels (more than {steps} steps of "
        'search): keep their labels, blank_nodes="keep", or give the nodes IRIs'
    )


def _digest(*parts: bytes) -> bytes:
    return blake2b(b"".join(parts), digest_size=_SIZE).digest()


def _text(term: tuple[Any, ...], describe: Describe, places: dict[str, int]) -> str:
    """Write a described term in a form unique to it; blank nodes are numbered."""
    kind, *parts = term
    if kind is Kind.BLANK_NODE:
        return f"B{places.setdefault(parts[0], len(places))} "
    if kind is Kind.TRIPLE:
        return f"T{''.join([_text(describe(part), describe, places) for part in parts])}"
    if kind is Kind.DEFAULT_GRAPH:
        return ""
    if kind is Kind.LITERAL:
        lex, langtag, datatype = parts
        if langtag is not None:
            return f"L{len(lex)} {lex}@{len(langtag)} {langtag.lower()}"
        if datatype is None or datatype == XSD_STRING:
            return f"S{len(lex)} {lex}"
        return f"D{len(lex)} {lex}^{len(datatype)} {datatype}"
    return f"I{len(parts[0])} {parts[0]}"


class _Graph:
    """Statements with blank nodes, and the colours of the nodes."""

    def __init__(self, steps: int) -> None:
        self._steps = self._left = steps
        self._nodes: dict[str, int] = {}
        #: Statements, as the digest of the constant part and the nodes.
        self._statements: dict[tuple[bytes, tuple[int, ...]], None] = {}
        #: The statements and the colour of each node.
        self._of_node: list[list[tuple[bytes, tuple[int, ...]]]] = []
        self._colours: list[bytes] = []

    def add(self, shape: bytes, labels: Iterable[str]) -> None:
        places = []
        for label in labels:
            number = self._nodes.setdefault(label, len(self._nodes))
            if number == len(self._of_node):
                self._of_node.append([])
                self._colours.append(_START)
            places.append(number)
        statement = (shape, tuple(places))
        if statement not in self._statements:
            self._statements[statement] = None
            for number in places:
                self._of_node[number].append(statement)

    def labels(self) -> dict[str, str]:
        self._colour_parts(list(self._nodes.values()), depth=0)
        # The first character must be a letter; Oxigraph stores labels of 128 bits as numbers.
        return {label: f"b{self._colours[node].hex()[1:]}" for label, node in self._nodes.items()}

    def _colour_parts(self, nodes: list[int], depth: int) -> None:
        """Give each of the nodes a unique colour."""
        found: dict[bytes, list[list[int]]] = {}
        for part in self._components(nodes):
            found.setdefault(self._colour(part, depth), []).append(part)
        colours = self._colours
        for certificate, parts in found.items():
            # Equal components are interchangeable.
            for number, part in enumerate(parts):
                for node in part:
                    colours[node] = _digest(certificate, colours[node], number.to_bytes(4))

    def _components(self, nodes: list[int]) -> Iterator[list[int]]:
        left = set(nodes)
        for start in nodes:
            if start not in left:
                continue
            left.discard(start)
            part = [start]
            for node in part:
                for _, places in self._of_node[node]:
                    for other in places:
                        if other in left:
                            left.discard(other)
                            part.append(other)
            yield part

    def _colour(self, part: list[int], depth: int) -> bytes:
        """Give each node of a component a unique colour within it.

        :return: a digest, equal only for isomorphic components.
        """
        classes = self._refine(part, depth)
        symmetric = [node for node in part if len(classes[self._colours[node]]) > 1]
        if len(symmetric) < len(part):
            self._colour_parts(symmetric, depth + 1)
            return self._certificate(part)
        return self._search(part, classes, depth)

    def _search(self, part: list[int], classes: dict[bytes, set[int]], depth: int) -> bytes:
        """Single out each node of one colour in turn, and take the smallest certificate."""
        colours = self._colours
        before = [colours[node] for node in part]
        chosen = min(classes, key=lambda colour: (len(classes[colour]), colour))
        best: tuple[bytes, list[bytes]] | None = None
        orbits = _Orbits()
        for node in classes[chosen]:
            if orbits.has_tried(node):
                continue
            self._left -= len(part)
            if self._left < 0:
                raise too_symmetric(self._steps)
            colours[node] = _digest(chosen, b"single", depth.to_bytes(4))
            certificate = self._colour(part, depth + 1)
            found = [colours[each] for each in part]
            if best is None or certificate < best[0]:
                best = certificate, found
            elif certificate == best[0]:
                of_colour = dict(zip(best[1], part, strict=True))
                orbits.join(zip(part, (of_colour[colour] for colour in found), strict=True))
            self._set(part, before)
        assert best is not None
        self._set(part, best[1])
        return best[0]

    def _set(self, part: list[int], colours: list[bytes]) -> None:
        for node, colour in zip(part, colours, strict=True):
            self._colours[node] = colour

    def _certificate(self, part: list[int]) -> bytes:
        colours = self._colours
        return _digest(
            *sorted(
                shape + b"".join([colours[node] for node in places])
                for shape, places in {each for node in part for each in self._of_node[node]}
            )
        )

    def _refine(self, part: list[int], depth: int) -> dict[bytes, set[int]]:
        """Split colours by those of the neighbours until nothing splits.

        The largest group of a colour keeps it, so that each node changes a few times only.

        :return: nodes by colour.
        """
        colours, of_node = self._colours, self._of_node
        classes: dict[bytes, set[int]] = {}
        for node in part:
            classes.setdefault(colours[node], set()).add(node)
        changed = part
        step = 0
        while changed:
            step += 1
            prefix = depth.to_bytes(4) + step.to_bytes(4)
            seen: dict[int, list[bytes]] = {}
            looked_at = {each for node in changed for each in of_node[node]}
            for shape, places in looked_at:
                sight = shape + b"".join([colours[node] for node in places])
                for number, node in enumerate(places):
                    if len(classes.get(colours[node], ())) > 1:
                        seen.setdefault(node, []).append(sight + number.to_bytes(4))
            if depth:
                self._left -= len(looked_at)
            groups: dict[bytes, dict[bytes, list[int]]] = {}
            for node, sights in seen.items():
                sights.sort()
                alike = groups.setdefault(colours[node], {})
                alike.setdefault(_digest(*sights), []).append(node)
            changed = []
            for colour, alike in groups.items():
                members = classes[colour]
                sizes = [(len(nodes), sight) for sight, nodes in alike.items()]
                unseen = len(members) - sum(size for size, _ in sizes)
                _, largest = max([*sizes, (unseen, b"")])
                if unseen and largest:
                    alike[b""] = [node for node in members if node not in seen]
                for sight, nodes in alike.items():
                    if sight != largest:
                        made = _digest(colour, prefix, sight)
                        for node in nodes:
                            colours[node] = made
                        members.difference_update(nodes)
                        classes[made] = set(nodes)
                        changed += nodes
        return classes


class _Orbits:
    """Nodes that automorphisms map to each other: of each orbit, one node needs a trial."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._tried: list[int] = []

    def has_tried(self, node: int) -> bool:
        """Return whether the node's orbit has been tried, and mark it as tried."""
        root = self._root(node)
        if any(self._root(tried) == root for tried in self._tried):
            return True
        self._tried.append(node)
        return False

    def join(self, automorphism: Iterable[tuple[int, int]]) -> None:
        """Take an automorphism as pairs of nodes."""
        for one, other in automorphism:
            self._parents[self._root(one)] = self._root(other)

    def _root(self, node: int) -> int:
        parents = self._parents
        while (parent := parents.get(node, node)) != node:
            # Shorten paths: otherwise the orbit of a long ring becomes a single path of all its
            # nodes.
            parents[node] = above = parents.get(parent, parent)
            node = above
        return node

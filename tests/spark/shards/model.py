"""Random logs, and what a store has after them: sets, to which RDF Patch's rules are applied.

Shares nothing with the package but pyoxigraph, which reads the terms.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from pyoxigraph import Quad, RdfFormat, Store, parse

#: Kind and terms of a row of RDF Patch.
Row = tuple[str, str]
Patch = list[Row]

_INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


def random_log(
    seed: int, *, ids: bool = True, patches: int = 8, subjects: int = 9, size: int = 40
) -> list[Patch]:
    """Patches with aborted and empty transactions, and operations outside of transactions.

    :param ids: whether the patches have ids, and name their predecessors.
    :param subjects: how many different IRIs are subjects.
    :param size: the number of operations of a large transaction.
    """
    pick = random.Random(seed)
    made = []
    for number in range(patches):
        rows: Patch = []
        if ids:
            rows.append(("H", f"id <urn:{seed}:{number}>"))
            if number:
                rows.append(("H", f"prev <urn:{seed}:{number - 1}>"))
        for _ in range(pick.randrange(4)):
            rows.append(("TX", ""))
            rows += [_change(pick, subjects) for _ in range(pick.choice([0, 1, 5, size]))]
            rows.append(("PA", f"ex: <urn:{pick.randrange(9)}>"))
            rows.append((pick.choice(["TC", "TC", "TC", "TA"]), ""))
            rows += [_change(pick, subjects) for _ in range(pick.choice([0, 0, 3]))]
        rows.append(("Z", ""))
        made.append(rows)
    return made


def _change(pick: random.Random, subjects: int) -> Row:
    subject = pick.choice([f"<urn:s{pick.randrange(subjects)}>", f"_:b{pick.randrange(4)}"])
    object_ = pick.choice(
        [
            f"<urn:o{pick.randrange(3)}>",
            f"_:b{pick.randrange(4)}",
            '"x"@en',
            '"x"@EN',
            f'"{pick.randrange(3)}"{_INTEGER}',
            f'"0{pick.randrange(3)}"{_INTEGER}',
            rf'"tab\t, quote \", é {pick.randrange(5)}"',
            '<<( _:b1 <urn:p> "in" )>>',
        ]
    )
    graph = pick.choice(["", " <urn:g>", " _:g"])
    return pick.choice("AAD"), f"{subject} <urn:p{pick.randrange(2)}> {object_}{graph}"


def text_of(patches: Iterable[Patch]) -> bytes:
    """The patches as RDF Patch text."""
    rows = (row for patch in patches for row in patch)
    return "".join(f"{kind} {rest} .\n".replace("  ", " ") for kind, rest in rows).encode()


def count(patches: Iterable[Patch], kind: str) -> int:
    """The number of rows of a kind."""
    return sum(row[0] == kind for patch in patches for row in patch)


def quads_after(patches: Iterable[Patch]) -> set[Quad]:
    """The quads of a store after the patches."""
    found: set[Quad] = set()
    for rows in patches:
        before = found
        for kind, rest in rows:
            if kind == "TX":
                before = set(found)
            elif kind == "TA":
                found = before
            elif kind == "A":
                found.add(_stored(rest))
            elif kind == "D":
                found.discard(_stored(rest))
    return found


_STORED: dict[str, Quad] = {}


def _stored(text: str) -> Quad:
    """A quad as a store returns it, which changes the form of literals."""
    if text not in _STORED:
        store = Store()
        store.extend(list(parse(f"{text} .".encode(), RdfFormat.N_QUADS)))
        [_STORED[text]] = store
    return _STORED[text]


def cuts(pick: random.Random, patches: Sequence[Patch]) -> list[int]:
    """Numbers of patches at which a log is cut, the last one of them at its end."""
    return sorted({*(pick.randrange(1, len(patches)) for _ in range(3)), len(patches)})

"""Sets of quads, to which RDF Patch's rules were applied: what stores are compared with.

It shares nothing with what it judges but the reading of terms.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pyoxigraph import Quad, RdfFormat, parse

Rows = list[tuple[str, str]]


@dataclass
class Log:
    """A log of patches, as text, in files."""

    files: list[list[Rows]]
    chained: bool

    def write(self, folder: Path) -> list[Path]:
        paths = []
        for number, patches in enumerate(self.files):
            path = folder / f"log-{number}.rdfp"
            lines = [
                f"{kind} {rest} .".replace("  ", " ") for rows in patches for kind, rest in rows
            ]
            path.write_text("\n".join(lines) + "\n")
            paths.append(path)
        return paths

    def quads(self) -> set[Quad]:
        """What a store has after all files."""
        found: set[str] = set()
        for patches in self.files:
            for rows in patches:
                before = None
                for kind, rest in rows:
                    if kind == "TX":
                        before = set(found)
                    elif kind == "TA" and before is not None:
                        found = before
                    elif kind == "A":
                        found.add(rest)
                    elif kind == "D":
                        found.discard(rest)
        text = "".join(f"{each} .\n" for each in found)
        return set(parse(text.encode(), RdfFormat.N_QUADS))


def random_log(seed: int) -> Log:
    """A log of one to twelve files, with and without ids, of small and of larger transactions."""
    pick = random.Random(seed)
    chained = pick.random() < 0.6
    count = 0
    files = []
    for _ in range(pick.choice([1, 1, 2, 3, 12])):
        patches = []
        for _ in range(pick.randrange(1, 4)):
            rows: Rows = []
            if chained:
                rows.append(("H", f"id <urn:{seed}:{count}>"))
                if count:
                    rows.append(("H", f"prev <urn:{seed}:{count - 1}>"))
            for _ in range(pick.randrange(1, 4)):
                rows.append(("TX", ""))
                rows += [_row(pick) for _ in range(pick.choice([0, 1, 5, 40]))]
                rows.append((pick.choice(["TC", "TC", "TC", "TA"]), ""))
            rows += [_row(pick) for _ in range(pick.choice([0, 0, 3]))]
            rows.append(("Z", ""))
            patches.append(rows)
            count += 1
        files.append(patches)
    return Log(files, chained)


def _row(pick: random.Random) -> tuple[str, str]:
    subject = pick.choice([f"<urn:s{pick.randrange(9)}>", f"_:b{pick.randrange(4)}"])
    object_ = pick.choice([f"<urn:o{pick.randrange(3)}>", '"x"@en', f'"{pick.randrange(5)}"'])
    graph = pick.choice(["", " <urn:g>", " _:g"])
    return pick.choice("AAD"), f"{subject} <urn:p> {object_}{graph}"


def mangled(rows: int, pick: random.Random) -> tuple[str, list[list[int]]]:
    """What may have become of rows on their way: the places of those in each partition."""
    how = pick.choice(HOW)
    order = list(range(rows))
    if how == "shuffled":
        pick.shuffle(order)
    elif how == "repartitioned":
        order = [each for part in range(3) for each in order if each % 3 == part]
    elif how == "doubled":
        start = pick.randrange(rows)
        order += order[start : start + pick.randrange(1, rows + 1)]
    elif how == "filtered":
        share = pick.random()
        order = [each for each in order if pick.random() < share]
    elif how == "limited":
        order = order[: pick.randrange(rows)]
    elif how == "middle missing":
        start, stop = sorted((pick.randrange(rows), pick.randrange(rows)))
        order = order[:start] + order[stop:]
    cuts = sorted(pick.randrange(len(order) + 1) for _ in range(pick.choice([0, 1, 4])))
    edges = [0, *cuts, len(order)]
    return how, [order[start:stop] for start, stop in pairwise(edges)]


HOW: Sequence[str] = (
    *("whole", "whole", "whole", "shuffled", "repartitioned", "doubled", "filtered"),
    *("limited", "middle missing"),
)

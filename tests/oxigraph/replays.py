"""Short ways to logs of patches and to what stores have of them."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

from pyoxigraph import Quad, Store

from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.patch import Patch, Position, read_patches, write_patches

XSD = "http://www.w3.org/2001/XMLSchema#"


def patch(number: int | None, *lines: str, prev: int | str | None = None) -> str:
    """The text of a patch ``<urn:p:NUMBER>`` with these rows, which follows the one before it
    by default."""
    headers = []
    if number is not None:
        headers.append(f"H id <urn:p:{number}> .")
        if prev is None and number > 1:
            prev = number - 1
        if prev is not None and prev != "":
            headers.append(f"H prev <urn:p:{prev}> .")
    return "\n".join([*headers, *lines, "Z .\n"])


def transaction(*lines: str, end: str = "TC .") -> str:
    """The text of a transaction."""
    return "\n".join(["TX .", *lines, end])


def log(*patches: str) -> bytes:
    """A log of these patches as RDF Patch text."""
    return "".join(patches).encode()


def jelly_log(*patches: str) -> bytes:
    """A log of these patches as Jelly-Patch."""
    file = BytesIO()
    write_patches(read_patches(log(*patches)), file)
    return file.getvalue()


def patches_of(*patches: str) -> list[Patch]:
    """These patches in generic terms, in memory."""
    found = []
    for each in read_patches(log(*patches)):
        each.read_all()
        found.append(each)
    return found


def number_of(position: Position | None) -> int:
    """The number of the patch ``<urn:p:NUMBER>`` at a position."""
    assert position is not None
    return int(position.patch.removeprefix("<urn:p:").removesuffix(">"))


def data(store: Iterable[Quad]) -> set[str]:
    """The quads of a store, without those of the bookkeeping."""
    return {str(quad) for quad in store if quad.graph_name != BOOKKEEPING}


def everything(store: Store) -> set[str]:
    """All that a store has, its graphs and the bookkeeping included."""
    return {str(quad) for quad in store} | {f"graph {name}" for name in store.named_graphs()}


def counting(count: int, size: int = 1) -> list[str]:
    """Patches that follow one another, each of which adds so many statements of its own."""
    return [
        patch(
            number,
            transaction(*(f"A <urn:s:{number}> <urn:p> {i} ." for i in range(size))),
        )
        for number in range(1, count + 1)
    ]

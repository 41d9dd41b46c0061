"""Short ways to Jelly bytes, to logs of patches, and to what stores have of them."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import Any

from pyoxigraph import Quad as StoredQuad
from pyoxigraph import Store

from jelly_plugins import BlankNode, Iri, Literal, PhysicalType, Quad, StreamOptions, Triple
from jelly_plugins.codec.text.ntriples import written_label
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.patch import Patch, Position, read_patches, write_patches

S, P, O, G = (Iri(f"urn:{letter}") for letter in "spog")  # noqa: E741

GENERALIZED = {"generalized_statements": True, "rdf_star": True}


def jelly(*statements: Any, **changes: Any) -> bytes:
    """A flat stream of these statements; ``changes`` are stream options."""
    quads = bool(statements) and len(statements[0]) == 4
    defaults: dict[str, Any] = {
        "physical_type": PhysicalType.QUADS if quads else PhysicalType.TRIPLES,
        "rdf_star": True,
    }
    return write_bytes(statements, options=StreamOptions(**(defaults | changes)))


def numbered(count: int, *, label: str = "s") -> list[Triple]:
    """As many different triples."""
    return [Triple(Iri(f"urn:{label}/{i}"), P, Literal(f"value {i}")) for i in range(count)]


def contents(store: Iterable[Any]) -> set[str]:
    """The quads of a store as text, and its named graphs."""
    graphs = store.named_graphs() if isinstance(store, Store) else ()
    return {str(quad) for quad in store} | {f"graph {name}" for name in graphs}


#: Odd labels, their replacements, the replacements of these, and labels that only look like them.
ODD_LABELS = ["", "b0", "a b", "é ", "label-", "label-61", "label-zz", "label-612", "label-4A"]
for _ in range(2):
    ODD_LABELS += [written_label(label) for label in ODD_LABELS]
ODD_LABELS = list(dict.fromkeys(ODD_LABELS))

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


def data(store: Iterable[StoredQuad]) -> set[str]:
    """The quads of a store, without those of the bookkeeping."""
    return {str(quad) for quad in store if quad.graph_name != BOOKKEEPING}


def counting(count: int, size: int = 1) -> list[str]:
    """Patches that follow one another, each of which adds so many statements of its own."""
    return [
        patch(
            number,
            transaction(*(f"A <urn:s:{number}> <urn:p> {i} ." for i in range(size))),
        )
        for number in range(1, count + 1)
    ]


_SPO = Triple(S, P, O)
#: Statements that an Oxigraph store cannot hold, and how the error begins.
REJECTED: list[tuple[Any, str]] = [
    *(
        (Triple(S, P, term), f"Oxigraph rejects {message}")
        for term, message in (
            (Iri("relative"), "the IRI 'relative'"),
            (Iri(""), "the IRI ''"),
            (Iri("urn:a b"), "the IRI 'urn:a b'"),
            (Iri("urn:x> <urn:y"), "the IRI"),
            (Iri("a" * 1000), "the IRI 'a{80}…'"),
            (Literal("x", langtag="e n"), "the language tag 'e n'"),
            (Literal("x", langtag="waytoolongforasubtag"), "the language tag"),
            (Literal("x", datatype="no iri"), "the datatype 'no iri'"),
        )
    ),
    *(
        (statement, f"Oxigraph cannot hold {message}")
        for statement, message in (
            (Triple(Literal("x"), P, O), "a literal as subject"),
            (Triple(_SPO, P, O), "a quoted triple as subject"),
            (Quad(_SPO, P, O, G), "a quoted triple as subject"),
            (Triple(S, BlankNode("b"), O), "a blank node as predicate"),
            (Triple(S, Literal("x"), O), "a literal as predicate"),
            (Triple(S, _SPO, O), "a quoted triple as predicate"),
            (Quad(S, BlankNode("b"), O, G), "a blank node as predicate"),
            (Quad(S, P, O, Literal("g")), "a literal as graph name"),
            *(
                (Triple(S, P, quoted), f"{message} of a quoted triple")
                for quoted, message in (
                    (Triple(Literal("x"), P, O), "a literal as subject"),
                    (Triple(S, BlankNode("b"), O), "a blank node as predicate"),
                    (Triple(_SPO, P, O), "a quoted triple as subject"),
                    (Triple(S, P, Triple(_SPO, P, O)), "a quoted triple as subject"),
                )
            ),
        )
    ),
]

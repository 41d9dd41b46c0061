"""Documents that repeat one thing, or declare more than they hold, and what reads them.

Run as a program with a size in bytes and names of cases: prints one JSON line for each, with the
memory in bytes that reading took at its peak, and how it ended.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyoxigraph import Store
from rdflib import Dataset

import jelly_plugins.arrow
import jelly_plugins.jena
import jelly_plugins.oxigraph
import jelly_plugins.rdflib
from jelly_plugins import JellyError, convert, read
from jelly_plugins.codec.common.wire import bytes_field, varint
from jelly_plugins.messages import read_messages
from jelly_plugins.patch import PatchFormat, check, read_patches

from .codec import patch_wire as p
from .codec import wire_builder as w
from .memory import peak


def repeated(row: bytes, size: int) -> bytes:
    return row * (size // len(row))


def numbered(make: Callable[[int], bytes], size: int) -> bytes:
    each = len(make(10**6))
    return b"".join(map(make, range(10**6, 10**6 + size // each)))


X: Final = w.bnode("x")
#: The IRI ``urn:p``, whose entries are in :data:`FIRST`.
P: Final = w.iri(1, 1)
OPTIONS: Final = w.options(names=128, version=2, star=True)
#: Rows after which a triple may repeat terms.
FIRST: Final = w.prefix("urn:", 1) + w.name("p", 1) + w.triple(X, P, X)


def jelly(rows: bytes) -> bytes:
    return w.stream(OPTIONS + FIRST + rows)


def patch(rows: bytes) -> bytes:
    first = p.prefix("urn:", 1) + p.name("p", 1) + p.add(X, P, X)
    return w.stream(p.options(p.PUNCTUATED, names=128) + first + rows)


def node(number: int) -> bytes:
    """A triple of a blank node."""
    return w.triple(w.bnode(f"{number}"), P, w.bnode(f"{number}"))


def nested(depth: int) -> bytes:
    """A triple whose objects are quoted triples."""
    term = X
    for _ in range(depth):
        term = w.quoted(X, P, term)
    return w.triple(X, P, term)


#: Documents of Jelly-RDF by what they repeat.
JELLY: Final[dict[str, Callable[[int], bytes]]] = {
    "repeated triples": lambda size: jelly(repeated(w.triple(), size)),
    "prefixes": lambda size: jelly(repeated(w.prefix("x" * 50, 2), size)),
    "long prefixes": lambda size: jelly(w.prefix("x" * size, 2)),
    "names": lambda size: jelly(numbered(lambda n: w.name(f"{n}", n % 99 + 2), size)),
    "namespaces": lambda size: jelly(numbered(lambda n: w.namespace(f"{n}", P), size)),
    "blank nodes": lambda size: jelly(numbered(node, size)),
    "nested triples": lambda size: jelly(repeated(nested(60), size)),
    "deeply nested": lambda size: jelly(nested(min(size // 8, 50_000))),
    "options": lambda size: jelly(repeated(OPTIONS, size)),
    "empty rows": lambda size: jelly(repeated(bytes_field(1, b""), size)),
    "graphs": lambda size: w.stream(
        w.options(w.GRAPHS)
        + (w.prefix("urn:", 1) + w.name("p", 1))
        + repeated(w.graph_start(P) + w.graph_end(), size)
    ),
    "metadata": lambda size: w.stream(
        w.options() + numbered(lambda n: w.frame(metadata={f"{n}": b""}), size)
    ),
    "empty frames": lambda size: jelly(b"") + bytes(size),
    "one long literal": lambda size: jelly(w.triple(X, P, w.literal("x" * size))),
    "a frame that is longer than the source": lambda size: varint(size * 60) + jelly(b"")[1:],
    "an IRI of a large id": lambda _: jelly(w.triple(w.iri(2**31, 2**31))),
}
LINE: Final = b"<urn:s> <urn:p> <urn:o> .\n"
NTRIPLES: Final[dict[str, Callable[[int], bytes]]] = {
    "one line": lambda size: LINE * (size // len(LINE)),
    "a long literal": lambda size: b'<urn:s> <urn:p> "' + b"x" * size + b'" .\n',
    "a long literal of escapes": lambda size: (
        b'<urn:s> <urn:p> "' + rb"\u0041" * (size // 6) + b'" .\n'
    ),
    "a literal without an end": lambda size: b'<urn:s> <urn:p> "' + b"x" * size,
    "a long IRI": lambda size: b"<urn:" + b"x" * size + b"> <urn:p> <urn:o> .\n",
    "spaces": lambda size: b" " * size + LINE,
    "line feeds": lambda size: b"\n" * size,
    "comments": lambda size: b"#\n" * (size // 2),
    "nested triples": lambda size: b"<urn:s> <urn:p> " + b"<<( <urn:s> <urn:p> " * (size // 20),
    "different statements": lambda size: numbered(
        lambda n: b"<urn:%d> <urn:p> <urn:o> .\n" % n, size
    ),
}
TURTLE: Final[dict[str, Callable[[int], bytes]]] = {
    **{name: NTRIPLES[name] for name in ("one line", "a long literal", "spaces", "comments")},
    "brackets": lambda size: b"<urn:s> <urn:p> " + b"[ <urn:p> " * (size // 10),
    "objects": lambda size: b"<urn:s> <urn:p> 1" + b" , 1" * (size // 4) + b" .",
    "lists": lambda size: b"<urn:s> <urn:p> " + b"(" * size,
    "prefixes": lambda size: numbered(lambda n: b"@prefix p%d: <urn:p> .\n" % n, size),
}
XML: Final[dict[str, Callable[[int], bytes]]] = {
    "elements": lambda size: XML_START + b"<rdf:Description/>" * (size // 18) + b"</rdf:RDF>",
    "nested elements": lambda size: XML_START + b"<rdf:Description><rdf:value>" * (size // 28),
    "attributes": lambda size: (
        XML_START
        + b"<rdf:Description "
        + numbered(lambda n: b'rdf:a%d="" ' % n, size)
        + b"/></rdf:RDF>"
    ),
    "text": lambda size: (
        XML_START
        + b"<rdf:Description><rdf:value>"
        + b"x" * size
        + b"</rdf:value></rdf:Description></rdf:RDF>"
    ),
    "comments": lambda size: XML_START + b"<!-- -->" * (size // 8) + b"</rdf:RDF>",
}
XML_START: Final = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
JSON: Final[dict[str, Callable[[int], bytes]]] = {
    "arrays": lambda size: b"[" * size,
    "objects": lambda size: b'{"@id":' * (size // 7),
    "values": lambda size: b'{"@id":"urn:s","urn:p":[1' + b",1" * (size // 2) + b"]}",
    "a string": lambda size: b'{"@id":"urn:s","urn:p":"' + b"x" * size + b'"}',
    "empty objects": lambda size: b"[{}" + b",{}" * (size // 3) + b"]",
}
PATCH_TEXT: Final[dict[str, Callable[[int], bytes]]] = {
    "rows": lambda size: b"TX .\n" + repeated(b"A <urn:s> <urn:p> <urn:o> .\n", size) + b"TC .\n",
    "headers": lambda size: numbered(lambda n: b'H h%d "x" .\n' % n, size),
    "a long literal": lambda size: b'A <urn:s> <urn:p> "' + b"x" * size + b'" .\n',
    "an open literal": lambda size: b'A <urn:s> <urn:p> "' + b"x" * size,
    "transactions": lambda size: b"TX . TC .\n" * (size // 10),
    "patches": lambda size: numbered(lambda n: b"H id <urn:%d> .\nTX .\nTC .\nZ .\n" % n, size),
}
PATCH: Final[dict[str, Callable[[int], bytes]]] = {
    "repeated rows": lambda size: patch(repeated(p.add(), size)),
    "transactions": lambda size: patch(repeated(p.start() + p.commit(), size)),
    "headers": lambda size: patch(p.mark() + repeated(p.header("x", P), size)),
    "ends": lambda size: patch(repeated(p.mark(), size)),
    "names": lambda size: patch(numbered(lambda n: p.name(f"{n}", n % 99 + 2), size)),
}
THRIFT: Final[dict[str, Callable[[int], bytes]]] = {
    "zeros": bytes,
    "stops": lambda size: b"\x0c\x00" * (size // 2),
    "a long string": lambda size: b"\x3c\x18" + varint(size) + b"x" * size,
    "a string that is longer than the source": lambda size: b"\x3c\x18" + varint(size * 60),
    "nested": lambda size: b"\x1c" * size,
}
PROTOBUF: Final[dict[str, Callable[[int], bytes]]] = {
    "zeros": bytes,
    "prefixes": lambda size: repeated(b"\x06" + bytes_field(1, w.text(1, "x"))[:6], size),
    "nested": lambda size: varint(size) + b"\x12\x7f" * (size // 2),
}

Reader = Callable[[bytes], Any]


def drained(iterable: Any) -> None:
    for _ in iterable:
        pass


def largest(messages: Any) -> int:
    """The number of statements of the largest message, which is held as a whole."""
    return max((len(list(message)) for message in messages), default=0)


def converting(source: str, target: str) -> Reader:
    return lambda data: convert(data, Nowhere(), source_format=source, target_format=target)


def into_oxigraph(form: str) -> Reader:
    def read(data: bytes) -> int:
        store = Store()
        jelly_plugins.oxigraph.load(store, data, format=form)
        return len(store)

    return read


class Nowhere(io.RawIOBase):
    """An output that keeps nothing."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return len(data)


#: Documents and what reads them, by the name of a case.
CASES: Final[dict[str, tuple[dict[str, Callable[[int], bytes]], Reader]]] = {
    "read": (JELLY, lambda data: drained(read(data))),
    "arrow.read": (JELLY, lambda data: drained(jelly_plugins.arrow.read(data))),
    "rdflib.load": (JELLY, lambda data: jelly_plugins.rdflib.load(Dataset(), data)),
    "oxigraph.load": (JELLY, lambda data: jelly_plugins.oxigraph.load(Store(), data)),
    "Jelly to N-Quads": (JELLY, converting("jelly", "nq")),
    "Jelly to text": (JELLY, converting("jelly", "jelly-text")),
    "N-Quads to Jelly": (NTRIPLES, converting("nq", "jelly")),
    "N-Quads to RDF Thrift": (NTRIPLES, converting("nq", "rt")),
    "N-Quads into rdflib": (
        NTRIPLES,
        lambda data: jelly_plugins.rdflib.load(Dataset(), data, format="nq"),
    ),
    "N-Quads into Oxigraph": (
        NTRIPLES,
        into_oxigraph("nq"),
    ),
    "Turtle to Jelly": (TURTLE, converting("ttl", "jelly")),
    "Turtle into Oxigraph": (
        TURTLE,
        into_oxigraph("ttl"),
    ),
    "RDF/XML to Jelly": (XML, converting("rdf", "jelly")),
    "JSON-LD to Jelly": (JSON, converting("jsonld", "jelly")),
    "messages in N-Triples": (
        NTRIPLES,
        lambda data: largest(read_messages(b'VERSION "1.2-messages"\n' + data, format="nt")),
    ),
    "messages in Turtle": (
        TURTLE,
        lambda data: largest(read_messages(b'VERSION "1.2-messages"\n' + data, format="ttl")),
    ),
    "messages in NDJSON-LD": (JSON, lambda data: largest(read_messages(data, format="ndjsonld"))),
    "messages in YAML-LD": (JSON, lambda data: largest(read_messages(data, format="yamlld"))),
    "Jelly-Patch": (PATCH, lambda data: drained(each.operations for each in read_patches(data))),
    "check of RDF Patch": (PATCH_TEXT, check),
    "RDF Patch": (
        PATCH_TEXT,
        lambda data: drained(map(drained, read_patches(data, format=PatchFormat.RDF_PATCH))),
    ),
    "RDF Thrift": (THRIFT, lambda data: drained(jelly_plugins.jena.read(data, format="rt"))),
    "RDF Protobuf": (PROTOBUF, lambda data: drained(jelly_plugins.jena.read(data, format="rpb"))),
}


def measure(size: int, name: str) -> dict[str, tuple[int, int, str]]:
    """What reading each document of a case takes at its peak, the number of statements that are
    held at once, and how it ended."""
    documents, reader = CASES[name]
    reset = Path("/proc/self/clear_refs")
    found = {}
    for what, make in documents.items():
        data = make(size)
        reset.write_text("5")
        before, stored, outcome = peak(), 0, "read"
        try:
            count = reader(data)
            stored = count if isinstance(count, int) else 0
        except JellyError as error:
            outcome = f"{type(error).__name__}: {error}"[:200]
        found[what] = (peak() - before, stored, outcome)
    return found


if __name__ == "__main__":
    for case in sys.argv[2:] or CASES:
        print(json.dumps([case, measure(int(sys.argv[1]), case)]), flush=True)

"""Logs in every syntax, and helpers to read and write them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from jelly_plugins import BlankNode, Iri, JellyError, Literal, Triple
from jelly_plugins.messages import LogFormat, Message, read_messages, write_messages

FORMATS = tuple(map(str, LogFormat))
#: Syntaxes with graphs.
QUADS = tuple(str(each) for each in LogFormat if each.has_graphs)
#: Syntaxes with delimiters.
DELIMITED = tuple(str(each) for each in LogFormat if each.has_delimiters)
EARLY = "2025-comment"

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

#: Statements that every syntax can express, including text that resembles boundaries.
TRIPLES = (
    Triple(Iri(EX + "s"), Iri(EX + "p"), Iri(EX + "o")),
    Triple(Iri(EX + "s"), Iri(EX + "p"), Literal('tab\t "quoted" \\ <&> é😀')),
    Triple(Iri(EX + "s"), Iri(EX + "p"), Literal("\nMESSAGE\n# @message\n---\n@message .\n...\n")),
    Triple(Iri(EX + "s"), Iri(EX + "p"), Literal("</rdf:RDF>\n<!--]]>-->")),
    Triple(Iri(EX + "s"), Iri(EX + "q"), Literal("Hallo\r\nWelt\r \x85\u2028\x7f", "de")),
    Triple(Iri(EX + "s"), Iri(EX + "q"), Literal("yes")),
    Triple(Iri(EX + "s"), Iri(EX + "q"), Literal("2026-01-01")),
    Triple(Iri(EX + "s"), Iri(EX + "q"), Literal("007", None, XSD + "integer")),
    Triple(BlankNode("b1"), Iri(EX + "knows"), BlankNode("b2")),
    Triple(BlankNode("b1"), Iri(RDF + "type"), Iri(EX + "a.MESSAGE")),
    Triple(Iri(EX + "s"), Iri(EX + "knows"), BlankNode("b1")),
    Triple(BlankNode("0 b2"), Iri(EX + "q"), Literal("  ")),
    Triple(Iri(EX + "s"), Iri(EX + "MESSAGE"), Literal("")),
)
#: Logs with messages of these statements.
LOGS: tuple[list[list[Any]], ...] = (
    [],
    [[]],
    [[], []],
    [list(TRIPLES[:1])],
    [[], list(TRIPLES), [], list(TRIPLES[:2]), list(TRIPLES[:2]), list(TRIPLES[3:]), [], []],
)


def written(messages: Iterable[Any], format_: str, **settings: Any) -> bytes:
    """Write a log."""
    out = io.BytesIO()
    write_messages(messages, out, format=format_, **settings)
    return out.getvalue()


def read(data: Any, format_: str, **settings: Any) -> list[Message]:
    """Read all messages of a log."""
    data = data.encode() if isinstance(data, str) else data
    return list(read_messages(data, format=format_, **settings))


def sizes(data: Any, format_: str, **settings: Any) -> list[int]:
    """Return the number of quads of each message."""
    return list(map(len, read(data, format_, **settings)))


def quad_sets(messages: Iterable[Iterable[Any]]) -> list[set[Any]]:
    """Return the quads of each message as a set; language tags are in lower case."""
    return [{tuple(map(_plain, quad[:3])) + tuple(quad[3:]) for quad in each} for each in messages]


def _plain(term: Any) -> Any:
    if isinstance(term, Literal) and term.langtag is not None:
        return Literal(term.lex, term.langtag.lower())
    return term


def outcome(data: Any, format_: str, **settings: Any) -> tuple[list[set[Any]], str | None]:
    """Return the messages of a log, and the error that ends it, if there is one."""
    found = []
    try:
        for message in read_messages(data, format=format_, **settings):
            found.append(message)
    except JellyError as error:
        return quad_sets(found), type(error).__name__
    return quad_sets(found), None

"""The parts of a SPARQL update: its operations, their templates and patterns, as text.

Finds where parts begin and end, and the variables in them; it does not judge. The text must be one
that Oxigraph has parsed already.

Reference: SPARQL 1.1 Update, section "SPARQL Update Grammar"; SPARQL 1.2 for triple terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ESCAPE: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_LOCAL: Final = r"(?:[\w\-.:·]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%])*"
_TOKEN: Final = re.compile(
    rf"""
      (?P<space>  \s+ | \#[^\r\n]* )
    | (?P<iri>    <(?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPE})*> )
    | (?P<string> \"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\" | '''(?:[^'\\]|\\.|'(?!''))*'''
                | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*' )
    | (?P<variable> [?$]\w[\w·]* )
    | (?P<name>   (?:[^\W\d_][\w\-.·]*)?:{_LOCAL} | _:[\w\-.·]+ )
    | (?P<tag>    @[A-Za-z]+(?:-[A-Za-z0-9]+)* )
    | (?P<word>   [^\W\d_]\w* )
    | (?P<other>  . )
    """,
    re.VERBOSE | re.DOTALL,
)

#: Operations on whole graphs, which have no pattern.
GRAPH_OPERATIONS: Final = ("LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")


@dataclass(slots=True)
class SparqlOperation:
    """One operation of an update, in parts of its text. What it does not have is empty.

    :ivar prologue: the declarations that hold for it.
    :ivar text: the operation as it stands, without its prologue.
    :ivar words: keywords and names of an operation on graphs, keywords in upper case.
    :ivar data: whether the templates are data, without variables.
    :ivar with_graph: ``WITH`` and its IRI.
    :ivar delete: template of what goes, without its braces.
    :ivar insert: template of what comes, without its braces.
    :ivar using: the clauses ``USING``.
    :ivar where: the pattern, with its braces.
    """

    prologue: str
    text: str = ""
    words: tuple[str, ...] = ()
    data: bool = False
    with_graph: str = ""
    delete: str = ""
    insert: str = ""
    using: str = ""
    where: str = ""


class _Tokens:
    """The tokens of a text, one after the other, without space between them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [
            (found.lastgroup or "", found.start(), found.end())
            for found in _TOKEN.finditer(text)
            if found.lastgroup != "space"
        ]
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._tokens)

    @property
    def pos(self) -> int:
        """Where the next token starts."""
        return self._tokens[self._at][1] if self else len(self._text)

    @property
    def end(self) -> int:
        """Where the token before ends."""
        return self._tokens[self._at - 1][2] if self._at else 0

    def peek(self) -> str:
        """The next token; a word in upper case."""
        if not self:
            return ""
        kind, start, end = self._tokens[self._at]
        token = self._text[start:end]
        return token.upper() if kind == "word" else token

    def take(self) -> str:
        token = self.peek()
        self._at += 1
        return token

    def block(self) -> tuple[int, int]:
        """Take a group in braces; return where it starts and ends, braces included."""
        start = self.pos
        depth = 0
        while self:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if not depth:
                break
        return start, self.end

    def skip_prologue(self) -> None:
        while self.peek() in ("BASE", "PREFIX", "VERSION"):
            if self.take() == "PREFIX":
                self.take()
            self.take()


def prologue_end(text: str) -> int:
    """Where the declarations in the beginning of an update end.

    >>> prologue_end("PREFIX : <urn:> CLEAR ALL")
    15
    """
    tokens = _Tokens(text)
    tokens.skip_prologue()
    return tokens.end


def operations_of(text: str) -> Iterator[SparqlOperation]:
    """The operations of an update, in order.

    >>> [operation] = operations_of("PREFIX : <urn:> DELETE { ?s :p 1 } WHERE { ?s :p 1 . }")
    >>> operation.prologue, operation.delete, operation.where
    ('PREFIX : <urn:>\\n', ' ?s :p 1 ', '{ ?s :p 1 . }')
    """
    tokens = _Tokens(text)
    prologue = ""
    while tokens:
        start = tokens.pos
        tokens.skip_prologue()
        if tokens.pos > start:
            prologue += f"{text[start : tokens.end]}\n"
        if not tokens:
            return
        start = tokens.pos
        operation = _operation(text, tokens, SparqlOperation(prologue))
        operation.text = text[start : tokens.end]
        yield operation
        if tokens.peek() == ";":
            tokens.take()


def _operation(text: str, tokens: _Tokens, made: SparqlOperation) -> SparqlOperation:
    if tokens.peek() in GRAPH_OPERATIONS:
        words = []
        while tokens and tokens.peek() != ";":
            words.append(tokens.take())
        made.words = tuple(words)
        return made
    start = tokens.pos
    if tokens.peek() == "WITH":
        tokens.take()
        tokens.take()
        made.with_graph = text[start : tokens.end]
    while tokens.peek() in ("DELETE", "INSERT"):
        deletes = tokens.take() == "DELETE"
        if tokens.peek() in ("DATA", "WHERE"):
            made.data = tokens.take() == "DATA"
            start, end = tokens.block()
            if not made.data:
                made.where = text[start:end]
        else:
            start, end = tokens.block()
        if deletes:
            made.delete = text[start + 1 : end - 1]
        else:
            made.insert = text[start + 1 : end - 1]
        if made.data or made.where:
            return made
    start = tokens.pos
    while tokens.peek() != "WHERE":
        tokens.take()
    made.using = text[start : tokens.pos]
    tokens.take()
    start, end = tokens.block()
    made.where = text[start:end]
    return made


def with_variables_as(text: str, prefix: str) -> tuple[str, list[str]]:
    """A template with IRIs in the place of variables: ``prefix`` and the variable's name.

    :return: the template, and the names of its variables.

    >>> with_variables_as('?s <urn:?p> "$o" # ?x', "urn:v:")
    ('<urn:v:s> <urn:?p> "$o" # ?x', ['s'])
    """
    names: dict[str, None] = {}
    parts = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found.lastgroup == "variable":
            names[token[1:]] = None
            token = f"<{prefix}{token[1:]}>"
        parts.append(token)
    return "".join(parts), list(names)

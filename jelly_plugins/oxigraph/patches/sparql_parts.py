"""The parts of a SPARQL update: its operations, their templates and patterns, as text.

Finds where parts begin and end, and the variables in them, and validates nothing: the text must be
one that Oxigraph has parsed already.

Reference: SPARQL 1.1 Update, section "SPARQL Update Grammar"; SPARQL 1.2 for triple terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ESCAPE: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_LOCAL: Final = r"(?:[\w\-.:·]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%])*"
_IRI: Final = rf"""<(?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPE})*>"""
_STRING: Final = (
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"
    r'|"(?:[^"\\\r\n]|\\.)*"'
    r"|'(?:[^'\\\r\n]|\\.)*'"
)
_TOKEN: Final = re.compile(
    rf"""
      (?P<space>  \s+ | \#[^\r\n]* )
    | (?P<iri>    {_IRI} )
    | (?P<string> {_STRING} )
    | (?P<variable> [?$]\w[\w·]* )
    | (?P<name>   (?:[^\W\d_][\w\-.·]*)?:{_LOCAL} | _:[\w\-.·]+ )
    | (?P<tag>    @[A-Za-z]+(?:-[A-Za-z0-9]+)* )
    | (?P<word>   [^\W\d_]\w* )
    | (?P<other>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE: Final = re.compile(r"(?:\s++|#[^\r\n]*+)*+")
#: Whatever has no brace that counts. A name has a sign of a comment or a string only escaped.
_NO_BRACES: Final = re.compile(
    rf"""(?:[^{{}}"'<#\\]++|{_IRI}|{_STRING}|#[^\r\n]*+|\\.|[<"'\\])*+""", re.DOTALL
)

#: Operations on whole graphs, which have no pattern.
GRAPH_OPERATIONS: Final = ("LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")


@dataclass(slots=True)
class SparqlOperation:
    """One operation of an update, in parts of its text. What it does not have is empty.

    :ivar prologue: the declarations that hold for it.
    :ivar text: the operation unchanged, without its prologue.
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
    """The tokens of a text, one after the other, without space between them.

    :ivar pos: where the next token starts.
    :ivar end: where the token before ends.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.end = 0
        self._find(0)

    def _find(self, start: int) -> None:
        """Find the next token."""
        space = _SPACE.match(self._text, start)
        assert space is not None
        self._found = _TOKEN.match(self._text, space.end())
        self.pos = space.end()

    def __bool__(self) -> bool:
        return self._found is not None

    def peek(self) -> str:
        """The next token; a word in upper case."""
        if self._found is None:
            return ""
        token = self._found[0]
        return token.upper() if self._found.lastgroup == "word" else token

    def take(self) -> str:
        token = self.peek()
        if self._found is not None:
            self.end = self._found.end()
            self._find(self.end)
        return token

    def block(self) -> tuple[int, int]:
        """Take a group in braces; return where it starts and ends, braces included."""
        start = pos = self.pos
        depth = 0
        while pos < len(self._text):
            brace = self._text[pos]
            pos += 1
            depth += (brace == "{") - (brace == "}")
            if not depth:
                break
            rest = _NO_BRACES.match(self._text, pos)
            assert rest is not None
            pos = rest.end()
        self.end = pos
        self._find(pos)
        return start, pos

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
    """A template with IRIs instead of variables: ``prefix`` and the variable's name.

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

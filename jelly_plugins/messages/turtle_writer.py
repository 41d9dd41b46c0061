"""Writing logs in Turtle and TriG.

Statements stay in their order: those that follow one another with the same subject, or in the same
graph, are written together. Prefixes are declared once, before the first message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..codec import DEFAULT_GRAPH, Iri, Literal
from ..codec.text.ntriples import term_text
from .checking import ParsedChecker
from .model import Message

_RDF_TYPE: Final = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
#: Prefixes and local names that need no escapes anywhere.
_PREFIX: Final = re.compile(r"(?:[A-Za-z](?:[A-Za-z0-9_-]*+))?+")
_LOCAL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*+")
_NAMESPACE_END: Final = re.compile(r"[#/:][^#/:]*\Z")
#: Texts that are remembered; with more, remembering starts afresh.
_KNOWN: Final = 1 << 12
_KNOWN_CHARACTERS: Final = 1 << 10


class TurtleWriter:
    """Makes text in Turtle or TriG of messages.

    :param name: of the syntax, as errors have it.
    :param graphs: whether it is TriG.
    :param prefixes: IRI by name.
    :raises ValueError: a prefix has a name that needs escapes.

    :ivar header: declares the prefixes, before the first message.
    """

    def __init__(self, *, name: str, graphs: bool, prefixes: Mapping[str, str]) -> None:
        self._checker = ParsedChecker(name, graphs=graphs, quoted=True)
        self._texts: dict[Any, str] = {}
        self._prefixes: dict[str, str] = {}
        header = ""
        for prefix, iri in prefixes.items():
            if _PREFIX.fullmatch(prefix) is None:
                raise ValueError(f"{prefix!r} is not a prefix that is written here")
            self._checker.check_iri(iri)
            self._prefixes.setdefault(iri, prefix)
            header += f"PREFIX {prefix}: <{iri}>\n"
        self.header = header.encode()

    def text(self, message: Message) -> bytes:
        """A message without delimiters.

        :raises TermError: the syntax cannot express it.
        """
        parts: list[str] = []
        before_subject: Any = None
        before_predicate: Any = None
        before_graph: Any = DEFAULT_GRAPH
        text = self._text
        check = self._checker.check
        for quad in message.quads:
            check(quad)
            subject, predicate, object_, graph = quad
            if graph != before_graph:
                if before_subject is not None:
                    parts.append(" .\n")
                if before_graph is not DEFAULT_GRAPH:
                    parts.append("}\n")
                if graph is not DEFAULT_GRAPH:
                    parts.append(f"{text(graph)} {{\n")
                before_graph = graph
                before_subject = None
            if subject != before_subject:
                if before_subject is not None:
                    parts.append(" .\n")
                parts += (text(subject), " ", self._predicate(predicate), " ", text(object_))
            elif predicate != before_predicate:
                parts += (" ;\n  ", self._predicate(predicate), " ", text(object_))
            else:
                parts += (" , ", text(object_))
            before_subject = subject
            before_predicate = predicate
        if before_subject is not None:
            parts.append(" .\n")
        if before_graph is not DEFAULT_GRAPH:
            parts.append("}\n")
        return "".join(parts).encode()

    def _predicate(self, term: Any) -> str:
        return "a" if term == _RDF_TYPE else self._text(term)

    def _text(self, term: Any) -> str:
        text = self._texts.get(term)
        if text is None:
            text = self._new_text(term)
            if len(self._texts) >= _KNOWN:
                self._texts.clear()
            if len(text) <= _KNOWN_CHARACTERS:
                self._texts[term] = text
        return text

    def _new_text(self, term: Any) -> str:
        if isinstance(term, Iri):
            return self._short(term.value) or term_text(term)
        if isinstance(term, Literal) and term.datatype is not None and self._prefixes:
            short = self._short(term.datatype)
            if short is not None:
                return f"{term_text(Literal(term.lex))}^^{short}"
        return term_text(term)

    def _short(self, iri: str) -> str | None:
        """A prefixed name; None if there is none."""
        if not self._prefixes or (found := _NAMESPACE_END.search(iri)) is None:
            return None
        end = found.start() + 1
        prefix = self._prefixes.get(iri[:end])
        if prefix is None or _LOCAL.fullmatch(iri, end) is None:
            return None
        return f"{prefix}:{iri[end:]}"

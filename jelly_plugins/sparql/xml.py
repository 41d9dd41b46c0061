"""Results in XML: :func:`read_xml` reads them, :func:`xml_chunks` and :func:`xml_boolean` write.

References: SPARQL 1.2 Query Results XML Format; Internationalization Tag Set 2.0, "Directionality".
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from ..codec import Describe, Kind, Limits, TermFactory
from ..codec.common.limits import over
from ..codec.text.ntriples import written_label
from ..errors import JellyError, TermError, TextError
from ..formats.rdf_xml import NO_CHARACTER
from .w3c import (
    PARTS,
    Results,
    Terms,
    TermTexts,
    check_count,
    check_variables,
    check_written_depth,
    chunks_of,
    opened,
)

_SPARQL: Final = "http://www.w3.org/2005/sparql-results#"
_LANGUAGE: Final = "http://www.w3.org/XML/1998/namespace lang"
_DIRECTION: Final = "http://www.w3.org/2005/11/its dir"
_WHITE: Final = " \t\r\n"

_TERMS: Final = frozenset(("uri", "bnode", "literal", "triple"))
#: What an element may contain; one that is not here contains text.
_CHILDREN: Final = {
    "": frozenset(("sparql",)),
    "sparql": frozenset(("head", "results", "boolean")),
    "head": frozenset(("variable", "link")),
    "variable": frozenset[str](),
    "link": frozenset[str](),
    "results": frozenset(("result",)),
    "result": frozenset(("binding",)),
    "binding": _TERMS,
    "triple": frozenset(PARTS),
} | dict.fromkeys(PARTS, _TERMS)


def read_xml(chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits) -> Results:
    """Read the header.

    :raises JellyError: here or while iterating; the document is not well-formed or valid, or the
        factory rejects a term.
    """
    document = _Document(factory, limits)
    return opened(document, document.bindings(chunks))


class _Document:
    """Reads a document from expat's events."""

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        self.variables: list[str] = []
        self.boolean: bool | None = None
        self._limits = limits
        self._terms = Terms(factory, limits)
        #: Names of the elements that are open.
        self._open = [""]
        #: Elements that may occur once, and did.
        self._seen: set[str] = set()
        self._names: frozenset[str] = frozenset()
        #: The terms of the current solution, by name of the variable, and the current one.
        self._row: dict[str, Any] = {}
        self._name = ""
        #: The triples that are open: the terms of each, by part.
        self._triples: list[dict[str, Any]] = []
        self._attributes: dict[str, str] = {}
        self._text: list[str] = []
        self._size = 0
        self._found: list[dict[str, Any]] = []
        self._waiting = 0
        self._parser = self._new_parser()

    def bindings(self, chunks: Iterator[bytes]) -> Generator[dict[str, Any]]:
        """An empty mark once the header or the result of ASK is known, then the terms of each
        solution by name."""
        begun = False
        for chunk in chunks:
            self._waiting += len(chunk)
            if self._waiting > self._limits.string_bytes:
                raise over(self._limits, "string_bytes", self._waiting, "the length of a tag")
            self._parse(chunk, final=False)
            if not begun and "results" in self._seen:
                begun = True
                yield {}
            found, self._found = self._found, []
            yield from found
        self._parse(b"", final=True)
        if not begun:
            yield {}
        yield from self._found

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        # Expat 2.6 and later may leave a tag for the next chunk even if it is complete.
        if hasattr(parser, "SetReparseDeferralEnabled"):
            parser.SetReparseDeferralEnabled(False)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._pass
        parser.ProcessingInstructionHandler = self._pass
        parser.StartDoctypeDeclHandler = self._document_type
        return parser

    def _parse(self, chunk: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            message = expat.errors.messages[error.code]
            raise TextError(message, line=error.lineno, column=error.offset + 1) from None
        except (TermError, TextError) as error:
            line = self._parser.CurrentLineNumber
            raise TextError(error.message, line=line) from None
        except JellyError:
            raise
        except (LookupError, ValueError) as error:
            # An encoding that Python does not know, or knows as none of single bytes.
            raise TextError(str(error), line=1) from None

    def _pass(self, *_: str) -> None:
        self._waiting = 0

    def _document_type(self, *_: Any) -> None:
        raise TextError("results have no document type")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._waiting = 0
        namespace, _, local = name.rpartition(" ")
        parent = self._open[-1]
        if namespace != _SPARQL or local not in _CHILDREN.get(parent, ()):
            place = f"in <{parent}>" if parent else "the element of SPARQL results"
            raise TextError(f"<{local}> is not {'expected ' if parent else ''}{place}")
        self._open.append(local)
        if local in ("head", "results", "boolean"):
            self._begin_part(local)
        elif local == "variable":
            self.variables.append(self._attribute(attributes, "name", local))
            check_count(len(self.variables), self._limits)
        elif local == "result":
            self._row = {}
        elif local == "binding":
            self._begin_binding(self._attribute(attributes, "name", local))
        elif local == "triple":
            self._terms.check_depth(len(self._triples) + 1)
            self._triples.append({})
        elif local in PARTS and local in self._triples[-1]:
            raise TextError(f"a quoted triple has two elements <{local}>")
        elif local not in _CHILDREN:
            self._attributes = attributes

    def _begin_part(self, local: str) -> None:
        if local in self._seen or self._seen & {"results", "boolean"}:
            raise TextError(f"<{local}> is not expected after the results")
        self._seen.add(local)
        if local == "results":
            check_variables(self.variables, self._limits)
            self._names = frozenset(self.variables)

    def _begin_binding(self, name: str) -> None:
        if name not in self._names:
            raise TextError(f"the variable {name[:80]!r} is not in the head")
        if name in self._row:
            raise TextError(f"the variable {name!r} is bound twice in a solution")
        self._name = name

    def _end(self, _: str) -> None:
        self._waiting = 0
        local = self._open.pop()
        if local == "result":
            self._found.append(self._row)
        elif local == "binding":
            if self._name not in self._row:
                raise TextError("a binding has no term")
        elif local == "boolean":
            text = self._taken().strip(_WHITE)
            if text not in ("true", "false"):
                raise TextError(f"{text[:80]!r} is not a result of ASK")
            self.boolean = text == "true"
        elif local in PARTS:
            if local not in self._triples[-1]:
                raise TextError(f"<{local}> has no term")
        elif local in _TERMS:
            triple = local == "triple"
            self._place(self._terms.triple(self._triples.pop()) if triple else self._term(local))
        elif local == "sparql" and not self._seen & {"results", "boolean"}:
            raise TextError("there are neither <results> nor <boolean>")

    def _place(self, term: Any) -> None:
        """Put a term where it belongs."""
        parent = self._open[-1]
        if parent in PARTS:
            if parent in self._triples[-1]:
                raise TextError(f"<{parent}> has two terms")
            self._triples[-1][parent] = term
        elif self._name not in self._row:
            self._row[self._name] = term
        else:
            raise TextError("a binding has two terms")

    def _term(self, local: str) -> Any:
        text = self._taken()
        if local != "literal":
            text = text.strip(_WHITE)
        get = self._attributes.get
        return self._terms.term(local, text, get("datatype"), get(_LANGUAGE), get(_DIRECTION))

    def _characters(self, text: str) -> None:
        self._waiting = 0
        if self._open[-1] not in _CHILDREN:
            self._text.append(text)
            self._size += len(text)
            if self._size > self._limits.string_bytes:
                raise over(self._limits, "string_bytes", self._size, "the length of a text")
        elif text.strip(_WHITE):
            raise TextError(f"text is not expected in <{self._open[-1]}>")

    def _taken(self) -> str:
        text = "".join(self._text)
        self._text.clear()
        self._size = 0
        return text

    @staticmethod
    def _attribute(attributes: dict[str, str], name: str, element: str) -> str:
        if name not in attributes:
            raise TextError(f"<{element}> has no attribute {name}")
        return attributes[name]


_HEADER: Final = f'<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="{_SPARQL}"'
_ITS: Final = ' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'


def xml_chunks(
    variables: Sequence[str], solutions: Iterable[Sequence[Any]], describe: Describe
) -> Iterator[bytes]:
    """Solutions as XML, see :func:`.w3c.chunks_of`."""
    openings = [f'<binding name="{name}">' for name in variables]
    text_of = TermTexts(lambda term: _element(term, describe, 0) + "</binding>")

    def row_text(solution: Sequence[Any]) -> str:
        bound = [
            opening + text_of(term)
            for opening, term in zip(openings, solution, strict=True)
            if term is not None
        ]
        return f"<result>{''.join(bound)}</result>\n"

    names = "".join(f'<variable name="{name}"/>' for name in variables)
    head = f"{_HEADER}{_ITS}><head>{names}</head><results>\n"
    return chunks_of(head, len(variables), solutions, row_text, "</results></sparql>\n")


def xml_boolean(value: bool) -> bytes:
    """The result of an ASK query as XML."""
    text = "true" if value else "false"
    return f"{_HEADER}><head/><boolean>{text}</boolean></sparql>\n".encode()


def _element(term: Any, describe: Describe, depth: int) -> str:
    """A term as an element."""
    check_written_depth(depth)
    kind, *parts = describe(term)
    if kind == Kind.IRI:
        return f"<uri>{_escaped(parts[0])}</uri>"
    if kind == Kind.BLANK_NODE:
        return f"<bnode>{written_label(parts[0])}</bnode>"
    if kind == Kind.TRIPLE:
        inside = [
            f"<{name}>{_element(part, describe, depth + 1)}</{name}>"
            for name, part in zip(PARTS, parts, strict=True)
        ]
        return f"<triple>{''.join(inside)}</triple>"
    lex, langtag, datatype = parts
    attributes = ""
    if langtag is not None:
        language, mark, direction = langtag.partition("--")
        attributes = f' xml:lang="{language}"' + (f' its:dir="{direction}"' if mark else "")
    elif datatype is not None:
        attributes = f" datatype={quoteattr(datatype)}"
    return f"<literal{attributes}>{_escaped(lex)}</literal>"


def _escaped(text: str) -> str:
    found = NO_CHARACTER.search(text)
    if found is not None:
        raise TermError(f"XML has no character {found[0]!r}")
    # A parser reads a carriage return as a line feed.
    return escape(text, {"\r": "&#13;"})

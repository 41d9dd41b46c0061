"""Results in XML: :func:`read_xml` reads them, :func:`xml_chunks` and :func:`xml_boolean` write.

References: SPARQL 1.2 Query Results XML Format; Internationalization Tag Set 2.0, "Directionality".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ..codec import Describe, Limits, TermFactory
from ..codec.common.limits import over
from ..errors import JellyError, TermError, TextError
from ..formats.rdf_xml import NO_CHARACTER
from .terms import (
    PARTS,
    Results,
    Solution,
    TermReader,
    TextFormat,
    check_count,
    check_variables,
    written,
)

_SPARQL: Final = "http://www.w3.org/2005/sparql-results#"
#: The attributes of a literal, and their names in SPARQL JSON.
_ATTRIBUTES: Final = {
    "datatype": "datatype",
    "http://www.w3.org/XML/1998/namespace lang": "xml:lang",
    "http://www.w3.org/2005/11/its dir": "its:dir",
}
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
    solutions = document.solutions(chunks)
    # The first item is a mark: the header was read.
    next(solutions)
    return Results(document.variables, document.boolean, solutions)


class _Document:
    """Reads a document from expat's events; only one solution is held as elements."""

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        self.variables: list[str] = []
        self.boolean: bool | None = None
        self._limits = limits
        self._terms = TermReader(factory, limits)
        self._builder = TreeBuilder()
        #: The elements that are open.
        self._open: list[Element] = []
        #: Elements that may occur once, and did.
        self._seen: set[str] = set()
        self._found: list[Solution] = []
        #: Bytes since the last tag.
        self._waiting = 0
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        # Expat 2.6 and later may leave a tag for the next chunk even if it is complete.
        if hasattr(parser, "SetReparseDeferralEnabled"):
            parser.SetReparseDeferralEnabled(False)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._builder.data
        parser.StartDoctypeDeclHandler = self._document_type

    def solutions(self, chunks: Iterator[bytes]) -> Iterator[Solution]:
        """A mark once the header or the result of ASK is known, then the solutions."""
        begun = False
        for chunk in chunks:
            self._waiting += len(chunk)
            if self._waiting > self._limits.string_bytes:
                raise over(self._limits, "string_bytes", self._waiting, "the length of a text")
            self._parse(chunk, final=False)
            if not begun and "results" in self._seen:
                begun = True
                yield ()
            found, self._found = self._found, []
            yield from found
        self._parse(b"", final=True)
        if not begun:
            yield ()
        yield from self._found

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

    @staticmethod
    def _document_type(*_: Any) -> None:
        raise TextError("results have no document type")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._waiting = 0
        namespace, _, local = name.rpartition(" ")
        parent = self._open[-1].tag if self._open else ""
        if namespace != _SPARQL or local not in _CHILDREN.get(parent, ()):
            place = f"in <{parent}>" if parent else "the element of SPARQL results"
            raise TextError(f"<{local}> is not {'expected ' if parent else ''}{place}")
        if local in ("head", "results", "boolean"):
            if local in self._seen or self._seen & {"results", "boolean"}:
                raise TextError(f"<{local}> is not expected after the results")
            self._seen.add(local)
        elif local in ("variable", "binding") and "name" not in attributes:
            raise TextError(f"<{local}> has no attribute name")
        if local == "results":
            check_variables(self.variables, self._limits)
        elif local == "variable":
            self.variables.append(attributes["name"])
            check_count(len(self.variables), self._limits)
        self._open.append(self._builder.start(local, attributes))
        if local == "triple":
            self._terms.check_depth(sum(each.tag == local for each in self._open))
        elif local == "result":
            results = self._open[-2]
            _check_text(results)
            del results[:-1]

    def _end(self, _: str) -> None:
        self._waiting = 0
        element = self._open.pop()
        local = element.tag
        self._builder.end(local)
        if local in _CHILDREN:
            _check_text(element)
        if local == "result":
            self._found.append(self._solution(element))
        elif local == "boolean":
            text = (element.text or "").strip(_WHITE)
            if text not in ("true", "false"):
                raise TextError(f"{text[:80]!r} is not a result of ASK")
            self.boolean = text == "true"
        elif local == "sparql" and not self._seen & {"results", "boolean"}:
            raise TextError("there are neither <results> nor <boolean>")

    def _solution(self, result: Element) -> Solution:
        bound: dict[str, Any] = {}
        for binding in result:
            name = binding.attrib["name"]
            if name in bound:
                raise TextError(f"the variable {name[:80]!r} is bound twice in a solution")
            bound[name] = self._terms.parsed(_term_in(binding))
        solution = tuple([bound.pop(name, None) for name in self.variables])
        for name in bound:
            raise TextError(f"the variable {name[:80]!r} is not in the head")
        return solution


def _check_text(element: Element) -> None:
    """Check that an element whose last child may be open contains no text of its own."""
    for text in [element.text, *[child.tail for child in element]]:
        if text and text.strip(_WHITE):
            raise TextError(f"text is not expected in <{element.tag}>")


def _term_in(element: Element) -> dict[str, Any]:
    """The term in an element, as SPARQL JSON has it."""
    if len(element) != 1:
        what = "a binding" if element.tag == "binding" else f"<{element.tag}>"
        raise TextError(f"{what} has {'two terms' if len(element) else 'no term'}")
    term = element[0]
    if term.tag == "triple":
        parts = {part.tag: _term_in(part) for part in term}
        if len(parts) < len(term):
            raise TextError("a quoted triple has two parts of the same kind")
        return {"type": "triple", "value": parts}
    text = term.text or ""
    if term.tag != "literal":
        return {"type": term.tag, "value": text.strip(_WHITE)}
    found = {_ATTRIBUTES[name]: term.attrib[name] for name in term.attrib if name in _ATTRIBUTES}
    return {"type": "literal", "value": text, **found}


_HEADER: Final = f'<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="{_SPARQL}"'
_ITS: Final = ' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'
# A parser reads a carriage return as a line feed.
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


def xml_chunks(
    variables: Sequence[str], solutions: Iterable[Sequence[Any]], describe: Describe
) -> Iterator[bytes]:
    """Solutions as XML, see :func:`.terms.written`."""
    openings = [f'<binding name="{name}">' for name in variables]

    def row_text(texts: list[str | None]) -> str:
        bound = [
            f"{opening}{text}</binding>"
            for opening, text in zip(openings, texts, strict=True)
            if text is not None
        ]
        return f"<result>{''.join(bound)}</result>\n"

    names = "".join(f'<variable name="{name}"/>' for name in variables)
    return written(
        "srx",
        (f"{_HEADER}{_ITS}><head>{names}</head><results>\n", "</results></sparql>\n"),
        variables,
        solutions,
        describe=describe,
        term_text=_element,
        row_text=row_text,
    )


def xml_boolean(value: bool) -> bytes:
    """The result of an ASK query as XML."""
    text = "true" if value else "false"
    return f"{_HEADER}><head/><boolean>{text}</boolean></sparql>\n".encode()


def _element(parts: tuple[Any, ...]) -> str:
    """A term as an element."""
    kind, *values = parts
    if kind == "triple":
        inside = [
            f"<{name}>{_element(part)}</{name}>" for name, part in zip(PARTS, values, strict=True)
        ]
        return f"<triple>{''.join(inside)}</triple>"
    attributes = ""
    if kind == "literal":
        _, datatype, language, direction = values
        if language is not None:
            attributes = f' xml:lang="{language}"'
            attributes += f' its:dir="{direction}"' if direction else ""
        elif datatype is not None:
            attributes = f' datatype="{datatype.translate(_ESCAPES)}"'
    text = values[0]
    found = NO_CHARACTER.search(text)
    if found is not None:
        raise TermError(f"XML has no character {found[0]!r}")
    return f"<{kind}{attributes}>{text.translate(_ESCAPES)}</{kind}>"


FORMAT: Final = TextFormat(read_xml, xml_chunks, xml_boolean)

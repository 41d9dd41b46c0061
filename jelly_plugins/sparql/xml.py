"""Results in XML.

References: SPARQL 1.2 Query Results XML Format; Internationalization Tag Set 2.0, "Directionality".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from xml.parsers import expat

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, TermError, TextError
from ..formats.rdf_xml import NO_CHARACTER
from .terms import PARTS, Row, TextFormat, check_count, check_depth

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

_HEADER: Final = f'<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="{_SPARQL}"'
_ITS: Final = ' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'
# A parser reads a carriage return as a line feed.
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


class _Element(NamedTuple):
    """An open element, and the values of its children: bindings and parts of a quoted triple by
    name, and a term by the empty string."""

    name: str
    attributes: dict[str, str]
    values: dict[str, Any]


class _Document:
    """Reads a document from expat's events; only one solution is held as elements."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._names: list[str] = []
        self._rows: list[Row] = []
        self._boolean: bool | None = None
        self._open: list[_Element] = []
        #: The text since the last tag.
        self._text: list[str] = []
        #: Elements that may occur once, and did.
        self._seen: set[str] = set()
        #: Bytes since the last tag.
        self._waiting = 0
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        # Expat 2.6 and later may leave a tag for the next chunk even if it is complete.
        if hasattr(parser, "SetReparseDeferralEnabled"):
            parser.SetReparseDeferralEnabled(False)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.StartDoctypeDeclHandler = self._document_type

    def rows(self, chunks: Iterator[bytes]) -> Iterator[Row]:
        for chunk in chunks:
            self._waiting += len(chunk)
            if self._waiting > self._limits.string_bytes:
                raise over(self._limits, "string_bytes", self._waiting, "the length of a text")
            self._parse(chunk, final=False)
            yield from self._rows
            self._rows.clear()
        self._parse(b"", final=True)
        yield from self._rows

    def _parse(self, chunk: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            message = expat.errors.messages[error.code]
            raise TextError(message, line=error.lineno, column=error.offset + 1) from None
        except TextError as error:
            error.line = self._parser.CurrentLineNumber
            raise
        except JellyError:
            raise
        except (LookupError, ValueError) as error:
            # An encoding that Python does not know, or knows as none of single bytes.
            raise TextError(str(error), line=1) from None

    @staticmethod
    def _document_type(*_: Any) -> None:
        raise TextError("results have no document type")

    def _taken_text(self, element: str) -> str:
        """The text since the last tag, which must be white space in most elements."""
        self._waiting = 0
        if not self._text:
            return ""
        text = "".join(self._text)
        self._text.clear()
        if element in _CHILDREN and text.strip(_WHITE):
            raise TextError(f"text is not expected in <{element}>")
        return text

    def _start(self, full_name: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1].name if self._open else ""
        self._taken_text(parent)
        namespace, _, name = full_name.rpartition(" ")
        if namespace != _SPARQL or name not in _CHILDREN.get(parent, ()):
            raise TextError(f"<{name}> is not expected in <{parent or 'a document of results'}>")
        if name in ("head", "results", "boolean"):
            if name in self._seen or self._seen & {"results", "boolean"}:
                raise TextError(f"<{name}> is not expected after the results")
            self._seen.add(name)
            if name == "results":
                self._add_row(self._names)
        elif name in ("variable", "binding"):
            if "name" not in attributes:
                raise TextError(f"<{name}> has no attribute name")
            if name == "variable":
                self._names.append(attributes["name"])
                check_count(len(self._names), self._limits)
        self._open.append(_Element(name, attributes, {}))
        if name == "triple":
            check_depth(sum(each.name == name for each in self._open), self._limits)

    def _add_row(self, cells: Any) -> None:
        self._rows.append((self._parser.CurrentLineNumber, cells))

    def _end(self, _: str) -> None:
        name, attributes, values = self._open.pop()
        text = self._taken_text(name)
        key = ""
        value: Any = None
        if name == "binding" or name in PARTS:
            key = attributes["name"] if name == "binding" else name
            if not values:
                raise TextError(f"<{name}> has no term")
            value = values[""]
        elif name == "literal":
            value = {"type": name, "value": text}
            for attribute in attributes:
                if attribute in _ATTRIBUTES:
                    value[_ATTRIBUTES[attribute]] = attributes[attribute]
        elif name == "triple":
            value = {"type": name, "value": values}
        elif name in _TERMS:
            value = {"type": name, "value": text.strip(_WHITE)}
        else:
            self._end_outer(name, text, values)
        if value is not None:
            siblings = self._open[-1].values
            if key in siblings:
                raise TextError(f"there are two <{name}> for {key[:80]!r}")
            siblings[key] = value

    def _end_outer(self, name: str, text: str, values: dict[str, Any]) -> None:
        """Read the end of an element that is not part of a solution."""
        if name == "result":
            self._add_row(values)
        elif name == "boolean":
            self._boolean = {"true": True, "false": False}.get(text.strip(_WHITE))
            if self._boolean is None:
                raise TextError(f"{text[:80]!r} is not a result of ASK")
        elif name == "sparql":
            if not self._seen & {"results", "boolean"}:
                raise TextError("there are neither <results> nor <boolean>")
            if self._boolean is not None:
                self._add_row(self._boolean)


def _term_text(term: dict[str, Any]) -> str:
    kind = term["type"]
    value = term["value"]
    if kind == "triple":
        inside = [f"<{name}>{_term_text(value[name])}</{name}>" for name in PARTS]
        return f"<triple>{''.join(inside)}</triple>"
    found = NO_CHARACTER.search(value)
    if found is not None:
        raise TermError(f"XML has no character {found[0]!r}")
    attributes = ""
    for name in _ATTRIBUTES.values():
        if name in term:
            attributes += f' {name}="{term[name].translate(_ESCAPES)}"'
    return f"<{kind}{attributes}>{value.translate(_ESCAPES)}</{kind}>"


def _head(variables: Sequence[str]) -> str:
    names = "".join(f'<variable name="{name}"/>' for name in variables)
    return f"{_HEADER}{_ITS}><head>{names}</head><results>\n"


def _boolean(value: bool) -> str:
    text = "true" if value else "false"
    return f"{_HEADER}><head/><boolean>{text}</boolean></sparql>\n"


_FORMAT: Final = TextFormat(
    rows=lambda chunks, limits: _Document(limits).rows(chunks),
    head=_head,
    opening=lambda name: f'<binding name="{name}">',
    term_text=_term_text,
    boolean=_boolean,
    around=("<result>", "</result>\n"),
    closing="</binding>",
    foot="</results></sparql>\n",
)
FORMATS: Final = {"srx": _FORMAT}

"""Messages as JSON-LD in expanded form, and its text in NDJSON-LD and YAML-LD.

Nodes stay in the order of their statements: those that follow one another with the same subject are
one object, and those in the same graph are grouped.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ..codec import DEFAULT_GRAPH, Iri, Literal
from ..codec.text.ntriples import written_label
from ..errors import TermError
from .checking import ParsedChecker
from .model import Message

_RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
#: JSON may be in a string of JSON, and what a parser makes of it is something else than the string.
_RDF_JSON: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"


class JsonLdMaker:
    """Makes JSON-LD of messages.

    :param name: of the syntax, as errors have it.
    """

    def __init__(self, name: str) -> None:
        self._checker = ParsedChecker(name, graphs=True, quoted=False)

    def document(self, message: Message) -> dict[str, Any]:
        """A message as one object; without quads, an empty one.

        :raises TermError: JSON-LD cannot express it.
        """
        top: list[Any] = []
        nodes = top
        node: dict[str, Any] = {}
        graph: Any = DEFAULT_GRAPH
        subject: Any = None
        for quad in message.quads:
            self._checker.check(quad)
            if quad.graph != graph:
                graph = quad.graph
                nodes = top
                subject = None
                if graph is not DEFAULT_GRAPH:
                    nodes = []
                    top.append({"@id": _name(graph), "@graph": nodes})
            if quad.subject != subject:
                subject = quad.subject
                node = {"@id": _name(subject)}
                nodes.append(node)
            key, value = _property(quad.predicate, quad.object)
            if (values := node.get(key)) is None:
                node[key] = values = []
            values.append(value)
        return {"@graph": top} if top else {}


def _name(term: Any) -> str:
    return term.value if isinstance(term, Iri) else f"_:{written_label(term.label)}"


def _property(predicate: Any, object_: Any) -> tuple[str, Any]:
    """The key and the value that a node has for a statement."""
    if not isinstance(object_, Literal):
        if predicate.value == _RDF_TYPE:
            return "@type", _name(object_)
        return predicate.value, {"@id": _name(object_)}
    value = {"@value": object_.lex}
    if object_.langtag is not None:
        value["@language"] = object_.langtag
    elif object_.datatype is not None:
        if object_.datatype == _RDF_JSON:
            raise TermError("literals of type rdf:JSON are not written as JSON-LD")
        value["@type"] = object_.datatype
    return predicate.value, value


def ndjson_ld_text(document: dict[str, Any]) -> bytes:
    """A document as a line."""
    return _ENCODER.encode(document).encode() + b"\n"


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))

#: Maximum length of a key that a parser finds by the colon after it.
_SIMPLE_KEY: Final = 1000

#: What the reader has another use for.
_NOT_READ: Final = re.compile("[\U0010fffe\U0010ffff\U000fffff]")
#: What YAML does not print, or takes for the end of a line, where JSON has it as it is.
_UNPRINTED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def yaml_ld_text(document: dict[str, Any]) -> bytes:
    """A document of YAML. All scalars are quoted."""
    if not document:
        return b"--- {}\n"
    lines = ["---"]
    _add_lines(lines, document, 0)
    return ("\n".join(lines) + "\n").encode()


def _add_lines(lines: list[str], value: dict[str, Any], depth: int) -> None:
    """Add a mapping in block style; the items of a sequence are not indented further than its
    key."""
    indent = "  " * depth
    for key, each in value.items():
        start = f"{indent}{_quoted(key)}"
        if len(start) - len(indent) > _SIMPLE_KEY:
            lines.append(f"{indent}? {_quoted(key)}")
            start = indent
        if isinstance(each, str):
            lines.append(f"{start}: {_quoted(each)}")
            continue
        lines.append(f"{start}:")
        if isinstance(each, dict):
            _add_lines(lines, each, depth + 1)
            continue
        for item in each:
            if isinstance(item, str):
                lines.append(f"{indent}- {_quoted(item)}")
            else:
                first = len(lines)
                _add_lines(lines, item, depth + 1)
                lines[first] = f"{indent}- {lines[first].lstrip(' ')}"


def _quoted(text: str) -> str:
    if (found := _NOT_READ.search(text)) is not None:
        raise TermError(f"YAML-LD is not read with U+{ord(found[0]):X}, which is not a character")
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)

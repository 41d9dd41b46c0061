"""Reading logs in NDJSON-LD and RDF/XML: each line is a document, which pyoxigraph parses.

In NDJSON-LD an object with ``@context`` alone sets the context that is in force; an empty object is
an empty message.

Reference: RDF Messages, sections "JSON-LD" and "RDF/XML".
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..codec.text.lines import BLANK_NODE
from ..errors import TextError
from ..formats.json_ld import ContextLoader, Costs, dump, load_json
from ..formats.rdf_xml import XML_LABELS, RdfXmlText
from ..formats.reading import (
    NO_BASE,
    check_base,
    check_json,
    parsed,
    parser_of,
    pyoxigraph_module,
)
from ..io.chunks import relabelled
from ..io.sources import Input, without_mark
from .formats import Dialect, Syntax
from .text import Event, ReadSettings

#: An object that cannot contain a context.
_EMPTY: Final = re.compile(rb"\{[ \t]*+\}")
_LABEL: Final = re.compile(BLANK_NODE)
_SPACE: Final = b" \t\r\n"
#: Maximum number of statements held at once, and of their bytes, each counted as long as the
#: longest of their terms.
_BATCH: Final = 1 << 9
_BATCH_BYTES: Final = 1 << 22

#: Bytes of a context allowed for each byte of a document read under it, besides a part of
#: ``frame_expansion``: the parser takes 40 to 100 ns for each.
_OPENING_SHARE: Final = 1000
_OPENING_PART: Final = 4


def _lines(source: Input, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, stripped, with their numbers."""
    number = 0
    pending: list[bytes] = []
    size = 0
    for chunk in without_mark(source.chunks()):
        first, *rest = chunk.split(b"\n")
        pending.append(first)
        size += len(first)
        for line in rest:
            number += 1
            if data := b"".join(pending).strip(_SPACE):
                yield number, data
            pending = [line]
            size = len(line)
        if size > limits.frame_bytes:
            raise over(limits, "frame_bytes", size, "the length of a line")
    if data := b"".join(pending).strip(_SPACE):
        yield number + 1, data


def ndjson_ld_events(source: Input, syntax: Syntax, settings: ReadSettings) -> Generator[Event]:
    """The messages of a log in NDJSON-LD."""
    documents = Documents(settings)
    # In the early draft each line is a message.
    sets_context = syntax.dialect is Dialect.CURRENT
    for number, data in _lines(source, settings.limits):
        with located(number):
            if not data.startswith(b"{"):
                raise TextError("a line must be one JSON object")
            if not _EMPTY.fullmatch(data):
                if b"@context" not in data and b"\\u" not in data:
                    yield from documents.plain(data)
                else:
                    document = load_json(data)
                    if sets_context and set(document) == {"@context"}:
                        documents.set_context(document["@context"])
                        continue
                    yield from documents.any(document)
        yield number


def rdf_xml_events(
    source: Input,
    syntax: Syntax,  # noqa: ARG001
    settings: ReadSettings,
) -> Generator[Event]:
    """The messages of a log in RDF/XML. Each document has the encoding that it declares, in which
    ASCII characters are single bytes."""
    format_ = pyoxigraph_module().RdfFormat.RDF_XML
    base = settings.base
    for number, document in _lines(source, settings.limits):
        try:
            text = b"".join(RdfXmlText(base, number).chunks([document]))
        except TextError as error:
            error.message += "; each line of a log is a document"
            raise
        parser = parser_of(text, format_, base)
        for lines in parsed(parser, batch=_batch_for(len(text)), first_line=number):
            yield relabelled(lines, _label) if b"_:label-" in lines else lines
        yield number


def _label(name: bytes) -> bytes:
    """The label for which the writer used an XML name."""
    label = XML_LABELS.read(name.decode())
    return label.encode() if _LABEL.fullmatch(f"_:{label}") else name


class Documents:
    """Parses JSON-LD documents under a context, into lines of N-Quads.

    :param settings: their context is in force at first; of the limits, ``frame_expansion`` bounds
        what the parser, which holds a document's statements all at once, may make of its IRIs.
    """

    def __init__(self, settings: ReadSettings) -> None:
        self._loader = ContextLoader(settings.contexts, settings.base)
        self._limits = settings.limits
        self._base = settings.base
        self._format = pyoxigraph_module().RdfFormat.JSON_LD
        self._context: Any = None
        self._costs = Costs(len(settings.base or ""))
        self._opening = b""
        self._opened = 0
        if settings.context is not None:
            self.set_context(settings.context)

    def set_context(self, context: Any) -> None:
        if isinstance(context, dict) and set(context) == {"@context"}:
            context = context["@context"]
        self._context = self._loader.context(context)
        self._costs = Costs(len(self._base or ""), self._context)
        self._opening = b'{"@context":' + dump(self._context) + b","

    def plain(self, data: bytes) -> Iterator[bytes]:
        """An object that is not empty and has no context anywhere in it."""
        if self._opening:
            self._count_opening(len(data))
            data = self._opening + data[1:]
        return self._parsed(data, self._costs)

    def any(self, document: dict[str, Any]) -> Iterator[bytes]:
        """An object that may have contexts."""
        document = self._loader.inlined(document)
        costs = self._costs.copy()
        costs.add(document)
        if self._opening:
            self._count_opening(0)
            local = document.pop("@context", [])
            context = [*_as_list(self._context), *_as_list(local)]
            document = {"@context": context, **document}
        return self._parsed(dump(document), costs)

    def _count_opening(self, size: int) -> None:
        """Count the context in force, which the parser processes for each document again, and
        reject contexts that are larger than the documents justify.

        :param size: of the document, in bytes.
        """
        self._opened += len(self._opening) - _OPENING_SHARE * size
        opened = self._opened * _OPENING_PART
        if opened > self._limits.frame_expansion:
            what = (
                f"{_OPENING_PART} times the length of the contexts that the documents are read with"
            )
            raise over(self._limits, "frame_expansion", opened, what)

    def _parsed(self, data: bytes, costs: Costs) -> Iterator[bytes]:
        costs.check(len(data), self._limits)
        check_json(data, self._limits)
        base = self._base or NO_BASE
        parser = parser_of(data, self._format, base)
        for lines in parsed(parser, batch=_batch_for(len(data)), first_line=1):
            if base is NO_BASE:
                check_base(lines)
            yield lines


def _batch_for(size: int) -> int:
    """How many statements of a document may be held at once: a name of a few bytes may expand to an
    IRI that is nearly as long as the document."""
    return max(1, min(_BATCH, _BATCH_BYTES // (size + 1)))


def _as_list(context: Any) -> list[Any]:
    return context if isinstance(context, list) else [context]


@contextmanager
def located(line: int) -> Iterator[None]:
    """Add the line in the log to errors of a document that begins in a line."""
    try:
        yield
    except TextError as error:
        error.line = (error.line or 1) + line - 1
        raise
    except RecursionError:
        raise TextError("values are nested too deeply", line=line) from None

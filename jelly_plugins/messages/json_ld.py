"""Reading logs in NDJSON-LD: an object in each line, read under the context that is in force.

An object with ``@context`` alone sets the context; an empty object is an empty message. Each object
is parsed by pyoxigraph.

Reference: RDF Messages, section "JSON-LD".
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, LimitError, TextError
from ..formats.contexts import ContextLoader, dump
from ..formats.depth import check_json
from ..formats.json_ld import check_numbers, load_json
from ..formats.reading import (
    NO_BASE,
    check_base,
    gathered,
    parsed,
    parser_of,
    pyoxigraph_module,
)
from ..io.sources import Input, without_mark
from .boundaries import DELIMITER
from .formats import Dialect, Syntax
from .parsing import ParsedLog, ReadSettings, batch_for, document_error

#: An object that cannot have a context in it, whichever way that is written.
_EMPTY: Final = re.compile(rb"\{[ \t]*+\}")
_SPACE: Final = b" \t\r\n"
#: Size of an IRI that may occur often in a document, and of the shortest name for one.
_LONG_IRI: Final = 1 << 10
_SHORTEST: Final = 4


def whole_lines(source: Input, limits: Limits) -> Iterator[tuple[int, bytes] | None]:
    """The lines of a source, numbered from 1, without line feeds; None where more may take a while.

    :raises LimitError: a line is longer than ``limits.frame_bytes``.
    """
    number = 0
    pending: list[bytes] = []
    size = 0
    for chunk in without_mark(source.chunks()):
        first, *rest = chunk.split(b"\n")
        pending.append(first)
        size += len(first)
        for line in rest:
            number += 1
            yield number, b"".join(pending)
            pending = [line]
            size = len(line)
        if size > limits.frame_bytes:
            raise over(limits, "frame_bytes", size, "the length of a line")
        yield None
    if size:
        yield number + 1, b"".join(pending)


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
        self._opening = b""
        if settings.context is not None:
            self.set_context(settings.context)

    def set_context(self, context: Any) -> None:
        """Put a context in force."""
        if isinstance(context, dict) and set(context) == {"@context"}:
            context = context["@context"]
        self._context = self._loader.context(context)
        self._opening = b'{"@context":' + dump(self._context) + b","

    def plain(self, data: bytes, line: int) -> Iterator[bytes]:
        """An object that is not empty and has no context anywhere in it."""
        if self._opening:
            data = self._opening + data[1:]
        return self._parsed(data, line, self._loader.longest_in_force)

    def any(self, document: dict[str, Any], line: int) -> Iterator[bytes]:
        """An object that may have contexts."""
        document = self._loader.inlined(document)
        if self._opening:
            local = document.pop("@context", [])
            context = [*_as_list(self._context), *_as_list(local)]
            document = {"@context": context, **document}
        return self._parsed(dump(document), line, self._loader.longest)

    def _parsed(self, data: bytes, line: int, longest: int) -> Iterator[bytes]:
        size = len(data) // _SHORTEST * longest
        if longest > _LONG_IRI and size > self._limits.frame_expansion:
            what = "the length that IRIs of a document may come to"
            raise over(self._limits, "frame_expansion", size, what)
        try:
            check_json(data, self._limits)
            check_numbers(data)
        except (LimitError, TextError) as error:
            raise TextError(error.message, line=line) from None
        batch = batch_for(len(data))
        base = self._base or NO_BASE

        parser = parser_of(data, self._format, base)
        for lines in parsed(parser, batch=batch, first_line=line):
            if base is NO_BASE:
                check_base(lines)
            yield lines


def _as_list(context: Any) -> list[Any]:
    return context if isinstance(context, list) else [context]


def ndjson_ld_log(source: Input, syntax: Syntax, settings: ReadSettings) -> ParsedLog:
    """A log in NDJSON-LD as one in N-Quads."""
    lines: deque[int] = deque()
    # In the early draft each line is a message.
    sets_context = syntax.dialect is Dialect.CURRENT
    chunks = _chunks(source, Documents(settings), lines, settings, sets_context)
    return ParsedLog(source.name, gathered(chunks), lines)


def _chunks(
    source: Input,
    documents: Documents,
    lines: deque[int],
    settings: ReadSettings,
    sets_context: bool,
) -> Iterator[bytes]:
    number = 0
    try:
        for numbered in whole_lines(source, settings.limits):
            if numbered is None:
                yield b""
                continue
            number, line = numbered
            data = line.strip(_SPACE)
            if not data:
                if settings.strict:
                    raise TextError("a blank line")
                continue
            if not data.startswith(b"{"):
                raise TextError("a line must be one JSON object")
            if not _EMPTY.fullmatch(data):
                if b"@context" not in data and b"\\u" not in data:
                    yield from documents.plain(data, number)
                else:
                    document = load_json(data)
                    if sets_context and set(document) == {"@context"}:
                        documents.set_context(document["@context"])
                        continue
                    yield from documents.any(document, number)
            lines.append(number)
            yield DELIMITER
    except (JellyError, RecursionError) as error:
        raise document_error(error, source.name, number) from None

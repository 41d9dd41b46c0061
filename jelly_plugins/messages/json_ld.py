"""Reading logs in NDJSON-LD: an object in each line, read under the context that is in force.

An object that has nothing but ``@context`` sets the context; an object without anything is an empty
message. Each object is parsed by pyoxigraph.

Reference: RDF Messages, section "JSON-LD".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from ..codec import Limits, Quad
from ..codec.limits import over
from ..errors import JellyError, TextError
from ..formats import GenericTerms, pyoxigraph_module
from ..sources import Input
from .contexts import ContextLoader
from .formats import Dialect, Syntax
from .model import Message
from .parsing import located, parse_document

#: An object that cannot have a context in it, whichever way that is written.
_EMPTY: Final = re.compile(rb"\{[ \t]*+\}")
_SPACE: Final = b" \t\r\n"


def whole_lines(source: Input, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """The lines of a source, numbered from 1, without line feeds.

    :raises LimitError: a line is longer than ``limits.frame_bytes``.
    """
    number = 0
    pending: list[bytes] = []
    size = 0
    for piece in source.pieces():
        first, *rest = piece.split(b"\n")
        pending.append(first)
        size += len(first)
        for line in rest:
            number += 1
            yield number, b"".join(pending)
            pending = [line]
            size = len(line)
        if size > limits.frame_bytes:
            raise over(limits, "frame_bytes", size, "the length of a line")
    if size:
        yield number + 1, b"".join(pending)


class Documents:
    """Parses JSON-LD documents under a context.

    :param context: that is in force at first.
    """

    def __init__(
        self, loader: ContextLoader, context: Any, base: str | None, limits: Limits
    ) -> None:
        self._loader = loader
        self._base = base
        self._limits = limits
        self._make = GenericTerms(limits)
        self._format = pyoxigraph_module().RdfFormat.JSON_LD
        self._context: Any = None
        self._opening = b""
        if context is not None:
            self.set_context(context)

    def set_context(self, context: Any) -> None:
        """Put a context in force."""
        if isinstance(context, dict) and set(context) == {"@context"}:
            context = context["@context"]
        self._context = self._loader.context(context)
        self._opening = b'{"@context":' + _dump(self._context) + b","

    def plain(self, data: bytes, line: int) -> list[Quad]:
        """The quads of an object that has no context anywhere in it."""
        if self._opening:
            data = self._opening + data[1:]
        return self._parse(data, line)

    def parse(self, document: dict[str, Any], line: int) -> list[Quad]:
        """The quads of an object that may have contexts."""
        document = self._loader.inlined(document)
        if self._opening:
            local = document.pop("@context", [])
            document = {
                "@context": [
                    *_as_list(self._context),
                    *_as_list(local),
                ],
                **document,
            }
        return self._parse(_dump(document), line)

    def _parse(self, data: bytes, line: int) -> list[Quad]:
        quads = parse_document(data, self._format, self._base, self._make, line)
        if len(quads) > self._limits.frame_rows:
            what = "the number of statements of a message"
            raise over(self._limits, "frame_rows", len(quads), what)
        return quads


def _as_list(context: Any) -> list[Any]:
    return context if isinstance(context, list) else [context]


def _dump(value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except (TypeError, ValueError) as error:
        raise TextError(f"this is no JSON: {error}") from None


def load_json(data: bytes) -> Any:
    """A JSON value.

    :raises TextError: it is malformed; without its line.
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except RecursionError:
        raise TextError("values are nested too deeply") from None
    except ValueError as error:
        message = getattr(error, "msg", None) or str(error)
        raise TextError(f"malformed JSON: {message}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object has a key twice")
    return made


def read_ndjson_ld(
    source: Input,
    syntax: Syntax,
    *,
    loader: ContextLoader,
    context: Any,
    base: str | None,
    strict: bool,
    limits: Limits,
) -> Iterator[Message]:
    """The messages of a log in NDJSON-LD.

    :param strict: whether to refuse blank lines, which others allow.
    :raises JellyError: with the line.
    """
    # In the early draft each line is a message.
    sets_context = syntax.dialect is Dialect.CURRENT
    index = 0
    number = 0
    try:
        documents = Documents(loader, context, base, limits)
        for number, line in whole_lines(source, limits):
            data = line.strip(_SPACE)
            if not data:
                if strict:
                    raise TextError("a blank line")
                continue
            if not data.startswith(b"{"):
                raise TextError("a line holds one JSON object")
            if _EMPTY.fullmatch(data):
                quads: list[Quad] = []
            elif b"@context" not in data and b"\\u" not in data:
                quads = documents.plain(data, number)
            else:
                document = load_json(data)
                if sets_context and set(document) == {"@context"}:
                    documents.set_context(document["@context"])
                    continue
                quads = documents.parse(document, number)
            yield Message(quads, index, source.name, number)
            index += 1
    except TextError as error:
        if error.line is None:
            error.line = number or None
        raise located(error, source) from None
    except RecursionError:
        raise located(TextError("values are nested too deeply", line=number), source) from None
    except JellyError as error:
        raise located(error, source) from None

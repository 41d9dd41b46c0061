"""Reading logs in YAML-LD: a document for each message, ``---`` between them.

PyYAML parses, and only its parser is used: plain scalars are interpreted here, by YAML 1.2's
core schema, in which ``yes`` is a string and so is a date. Each document becomes JSON-LD and is
parsed by pyoxigraph. A document without content is an empty message.

Reference: RDF Messages, section "YAML-LD"; YAML 1.2.2, section "Core Schema"; YAML-LD 1.0.
"""

from __future__ import annotations

import io
import math
import re
from codecs import iterdecode
from collections.abc import Generator, Iterator
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, TextError
from ..io.chunks import ChunkFile
from ..io.sources import Input
from ..lazy import library
from .documents import Documents, located
from .formats import Syntax
from .text import Event, ReadSettings

_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE: Final = frozenset(("true", "True", "TRUE"))
_FALSE: Final = frozenset(("false", "False", "FALSE"))
_INTEGER: Final = re.compile(r"[-+]?[0-9]++")
_OTHER_INTEGER: Final = re.compile(r"0o[0-7]++|0x[0-9a-fA-F]++")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_STR: Final = "tag:yaml.org,2002:str"

#: Characters that end a line in YAML 1.1, which PyYAML reads, but not in YAML 1.2.
_BREAK: Final = re.compile("[\x85\u2028\u2029]")

#: Maximum number of digits of an integer; Python does not read many more.
_DIGITS: Final = 1000
#: Maximum nesting of collections.
_DEPTH: Final = 128
#: Maximum number of values of a document, including those that aliases repeat.
_VALUES: Final = 1_000_000


def yaml_ld_events(
    source: Input,
    syntax: Syntax,  # noqa: ARG001
    settings: ReadSettings,
) -> Generator[Event]:
    """The messages of a log in YAML-LD."""
    # Its extra includes all that documents need.
    yaml = library("yaml", "YAML-LD", "messages")
    documents = Documents(settings)
    for line, document in _Reader(yaml, source, settings.limits).documents():
        if isinstance(document, list):
            document = {"@graph": document} if document else {}
        with located(line):
            if not isinstance(document, dict | None):
                raise TextError("a document must be a mapping or a sequence")
            if document:
                yield from documents.any(document)
        yield line


class _Reader:
    """Makes JSON values of the events of PyYAML's parser."""

    def __init__(self, yaml: Any, source: Input, limits: Limits) -> None:
        self._yaml = yaml
        self._limits = limits
        #: Bytes since the parser's last event, and the line of that.
        self._waiting = 0
        self._line = 1
        file = io.BufferedReader(ChunkFile(self._checked(source)))
        loader = getattr(yaml, "CLoader", yaml.Loader)
        self._events: Iterator[Any] = yaml.parse(file, Loader=loader)
        #: Of the document: by anchor, a value and the number of values and of bytes in it; and
        #: these numbers of all.
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._values = self._bytes = 0

    def _checked(self, source: Input) -> Iterator[bytes]:
        for text in iterdecode(source.chunks(), "utf-8-sig"):
            if _BREAK.search(text):
                raise TextError("U+0085, U+2028 and U+2029 are not read, except as escapes")
            data = text.encode()
            # The parser gathers all of a value first.
            self._waiting += len(data)
            if self._waiting > self._limits.frame_bytes:
                raise over(self._limits, "frame_bytes", self._waiting, "the length of a value")
            yield data

    def _next(self) -> Any:
        event = next(self._events, None)
        self._waiting = 0
        if event is not None:
            self._line = event.start_mark.line + 1
        return event

    def documents(self) -> Iterator[tuple[int, Any]]:
        """The documents, with the lines in which they begin."""
        yaml = self._yaml
        try:
            while (event := self._next()) is not None:
                if isinstance(event, yaml.DocumentStartEvent):
                    self._anchors.clear()
                    self._values = self._bytes = 0
                    event = self._next()
                    yield self._line, self._value(event, 0)
        except TextError as error:
            error.line = error.line or self._line
            raise
        except JellyError:
            raise
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
            line = None if mark is None else mark.line + 1
            raise TextError(f"malformed YAML: {what}", line=line) from None
        except ValueError as error:
            raise TextError(f"malformed YAML: {error}") from None

    def _value(self, event: Any, depth: int) -> Any:
        """The value that begins with an event."""
        yaml = self._yaml
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise TextError(f"the alias *{event.anchor} has no anchor before it")
            value, values, size = self._anchors[event.anchor]
            self._count(values, size)
            return value
        before = self._values, self._bytes
        if isinstance(event, yaml.ScalarEvent):
            self._count(1, len(event.value))
            value = _scalar(event)
        else:
            self._count(1, 0)
            if event.tag not in (None, "!"):
                raise TextError(f"the tag {event.tag} has no meaning here")
            if depth >= _DEPTH:
                raise TextError(f"values are nested more than {_DEPTH} deep")
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            value = self._mapping(depth + 1) if is_mapping else list(self._items(depth + 1))
        if event.anchor is not None:
            values, size = before
            self._anchors[event.anchor] = value, self._values - values, self._bytes - size
        return value

    def _items(self, depth: int) -> Iterator[Any]:
        """The values up to the end of a collection."""
        while not isinstance(event := self._next(), self._yaml.CollectionEndEvent):
            yield self._value(event, depth)

    def _mapping(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key in self._items(depth):
            if not isinstance(key, str):
                raise TextError("a key must be a string")
            if key in made:
                raise TextError(f"the key {key!r} occurs twice")
            made[key] = self._value(self._next(), depth)
        return made

    def _count(self, values: int, size: int) -> None:
        self._values += values
        self._bytes += size
        if self._values > _VALUES:
            raise TextError(f"a document has more than {_VALUES} values, with repeated ones")
        if self._bytes > self._limits.frame_bytes:
            what = "the size of a document, with repeated values"
            raise over(self._limits, "frame_bytes", self._bytes, what)


def _scalar(event: Any) -> Any:
    """The JSON value of a scalar."""
    text: str = event.value
    if event.tag in ("!", _STR) or (event.tag is None and not event.implicit[0]):
        return text
    if event.tag is not None:
        raise TextError(f"the tag {event.tag} has no meaning here")
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    is_decimal = _INTEGER.fullmatch(text)
    if is_decimal or _OTHER_INTEGER.fullmatch(text):
        if len(text) > _DIGITS:
            raise TextError(f"an integer has more than {_DIGITS} digits")
        return int(text, 10 if is_decimal else 0)
    if _FLOAT.fullmatch(text) and math.isfinite(value := float(text)):
        return value
    if _FLOAT.fullmatch(text) or _NO_NUMBER.fullmatch(text):
        raise TextError(f"{text} is not a number of JSON")
    return text

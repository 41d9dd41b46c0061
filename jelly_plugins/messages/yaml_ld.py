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
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, iterdecode
from collections.abc import Generator, Iterator
from itertools import chain
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, TextError
from ..io.chunks import ChunkFile
from ..io.sources import Input
from ..lazy import library
from .json_ld import Documents, located
from .text import Event, ReadSettings

_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE: Final = frozenset(("true", "True", "TRUE"))
_FALSE: Final = frozenset(("false", "False", "FALSE"))
_INTEGER: Final = re.compile(r"[-+]?[0-9]++")
_OTHER_INTEGER: Final = re.compile(r"0o[0-7]++|0x[0-9a-fA-F]++")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_CORE: Final = "tag:yaml.org,2002:"

#: The end of a document after which another begins without ``---``: PyYAML, which reads YAML 1.1,
#: rejects that. Blank lines and comments may come between.
_NOTHING: Final = rb"[ \t]*+(?:#[^\r\n]*+)?+(?:\r\n?|\n)"
_BARE: Final = re.compile(
    rb"(?<=[\r\n])\.\.\.(?=" + _NOTHING + rb"(?:" + _NOTHING + rb")*+"
    rb"(?!%|(?:---|\.\.\.)(?:[ \t\r\n]|\Z))[ \t]*+[^ \t\r\n])"
)
#: What has to wait for more of the text: such an end, or the start of one, and nothing after it.
_WAITING: Final = re.compile(
    rb"(?<=[\r\n])\.(?:\.(?:\.(?:(?:" + _NOTHING + rb")++[ \t]*+(?:#[^\r\n]*+|[-.]{0,3})|"
    rb"[ \t]*+(?:#[^\r\n]*+)?+)?+)?+)?+\Z"
)
#: Maximum number of bytes that wait.
_WAITING_BYTES: Final = 1 << 16

#: Maximum number of characters of an implicit key (YAML 1.2.2, "Implicit keys").
_KEY: Final = 1024
#: Maximum number of digits of an integer; Python does not read many more.
_DIGITS: Final = 4000
#: Maximum nesting of collections.
_DEPTH: Final = 256
#: Maximum number of values of a document, including those that aliases repeat.
_VALUES: Final = 1_000_000


def yaml_ld_events(source: Input, settings: ReadSettings) -> Generator[Event]:
    """The messages of a log in YAML-LD.

    :raises MissingExtraError: PyYAML is not installed.
    """
    # Its extra includes all that documents need.
    yaml = library("yaml", "YAML-LD", "messages")
    documents = Documents(settings)
    for line, document in _documents(yaml, source, settings.limits):
        if isinstance(document, list):
            document = {"@graph": document} if document else {}
        with located(line):
            if not isinstance(document, dict | None):
                raise TextError("a document must be a mapping or a sequence")
            if document:
                yield from documents.any(document)
        yield line


def _documents(yaml: Any, source: Input, limits: Limits) -> Iterator[tuple[int, Any]]:
    """The documents as JSON values, with the lines in which they begin."""
    loader = getattr(yaml, "CLoader", yaml.Loader)
    chunks = _Bounded(source, limits)
    try:
        events = yaml.parse(io.BufferedReader(ChunkFile(iter(chunks))), Loader=loader)
        build: _Builder | None = None
        for event in events:
            chunks.since_event = 0
            if isinstance(event, yaml.DocumentStartEvent):
                build = _Builder(yaml, limits)
            elif isinstance(event, yaml.DocumentEndEvent):
                assert build is not None
                yield build.line, build.value
            elif build is not None:
                build.take(event)
    except JellyError:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        line = None if mark is None else mark.line + 1
        if mark is not None and mark.column > _KEY:
            what += f", or a key of more than {_KEY} characters without '? ' before it"
        raise TextError(f"malformed YAML: {what}", line=line) from None
    except (UnicodeError, ValueError) as error:
        raise TextError(f"malformed YAML: {error}") from None


#: Characters that end a line in YAML 1.1, which PyYAML reads, but not in YAML 1.2; and
#: noncharacters that represent them while it parses.
_BREAKS: Final = {"\x85": "\U0010fffe", "\u2028": "\U0010ffff", "\u2029": "\U000fffff"}
_BREAK_BYTES: Final = {each.encode(): other.encode() for each, other in _BREAKS.items()}
_RESTORED: Final = {ord(other): each for each, other in _BREAKS.items()}
#: These noncharacters, as they are and as escapes.
_TAKEN: Final = re.compile(
    rb"(?i:\\U(?:0010fff[ef]|000fffff))|" + b"|".join(map(re.escape, _BREAK_BYTES.values()))
)
#: The start of one of all these, at the end of a chunk.
_PARTIAL: Final = re.compile(
    rb"(?:\xc2|\xe2\x80?|\xf4(?:\x8f\xbf?)?|\xf3(?:\xbf\xbf?)?|\\(?:U[0-9A-Fa-f]{0,7})?)\Z"
)
_PARTIAL_BYTES: Final = 9


def _without_breaks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """YAML in which no character is replaced by a line feed, or ends a line, that YAML 1.2 keeps.

    >>> list(_without_breaks(iter([b"x\\xc2", b"\\x85"])))
    [b'x', b'\\xf4\\x8f\\xbf\\xbe']
    """
    before = b""
    for chunk in _in_utf_8(chunks):
        text = before + chunk
        partial = _PARTIAL.search(text, max(0, len(text) - _PARTIAL_BYTES))
        before = b"" if partial is None else partial[0]
        text = text[: len(text) - len(before)]
        if _TAKEN.search(text) is not None:
            raise TextError(
                "U+10FFFE, U+10FFFF and U+FFFFF, which are not characters, are not read"
            )
        for character, other in _BREAK_BYTES.items():
            text = text.replace(character, other)
        yield text
    if before:
        yield before


def _in_utf_8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """YAML in UTF-8; UTF-16 begins with a byte order mark."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) > 1:
            break
    document = chain((head,), chunks)
    if not head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        yield from document
        return
    try:
        yield from (text.encode() for text in iterdecode(document, "utf-16"))
    except UnicodeError as error:
        raise TextError(f"malformed YAML: {error}") from None


class _Bounded:
    """The chunks of a source, in which no value is longer than a document may be: the parser
    gathers all of it first.

    :ivar since_event: bytes yielded since the parser's last event.
    """

    def __init__(self, source: Input, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self.since_event = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in _with_starts(_without_breaks(self._source.chunks())):
            self.since_event += len(chunk)
            if self.since_event > self._limits.frame_bytes:
                raise over(self._limits, "frame_bytes", self.since_event, "the length of a value")
            yield chunk


def _with_starts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """YAML in which each document after ``...`` has a start: ``---``, written over the end of the
    one before, so that lines keep their numbers.

    >>> b"".join(_with_starts(iter([b"a: 1\\n..", b".\\n# b\\nb: 2\\n...\\n"])))
    b'a: 1\\n---\\n# b\\nb: 2\\n...\\n'
    """
    # The byte before the text shows whether a line starts there.
    before, waiting = b"\n", b""
    for chunk in chunks:
        text = before + waiting + chunk
        end = max(text.rfind(b"\n."), text.rfind(b"\r.")) + 1
        if end and _WAITING.match(text, end) and len(text) - end <= _WAITING_BYTES:
            text, waiting = text[:end], text[end:]
        else:
            waiting = b""
        before = text[-1:]
        if len(text) > 1:
            yield _BARE.sub(b"---", text)[1:]
    if waiting:
        yield waiting


#: Placeholder where a mapping waits for a key.
_NO_KEY: Final = object()


class _Builder:
    """Makes a JSON value of the events of one document.

    :ivar line: of its first value.
    """

    def __init__(self, yaml: Any, limits: Limits) -> None:
        self._yaml = yaml
        self._limits = limits
        self.value: Any = None
        self.line = 0
        #: Collections that are open, with their anchors, and keys that wait for a value.
        self._open: list[tuple[Any, str | None, int, int]] = []
        self._keys: list[Any] = []
        #: By anchor: a value, the number of values and of bytes in it.
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._values = 0
        self._bytes = 0

    def take(self, event: Any) -> None:
        """Take the next event.

        :raises TextError: JSON cannot express it; with the line.
        """
        yaml = self._yaml
        line = event.start_mark.line + 1
        self.line = self.line or line
        try:
            if isinstance(event, yaml.ScalarEvent):
                value = _scalar(event)
                before = self._values, self._bytes
                self._count(1, len(event.value))
                self._anchor(event.anchor, value, before)
                self._add(value)
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor not in self._anchors:
                    raise TextError(f"the alias *{event.anchor} has no anchor before it")
                value, values, size = self._anchors[event.anchor]
                self._count(values, size)
                self._add(value)
            elif isinstance(event, yaml.CollectionStartEvent):
                if event.tag not in (None, "!", _CORE + "map", _CORE + "seq"):
                    raise TextError(f"the tag {event.tag} has no meaning here")
                if len(self._open) >= _DEPTH:
                    raise TextError(f"values are nested more than {_DEPTH} deep")
                made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                self._open.append((made, event.anchor, self._values, self._bytes))
                self._keys.append(_NO_KEY)
                self._count(1, 0)
            elif isinstance(event, yaml.CollectionEndEvent):
                made, anchor, values, size = self._open.pop()
                self._keys.pop()
                self._anchor(anchor, made, (values, size))
                self._add(made)
        except TextError as error:
            error.line = line
            raise

    def _count(self, values: int, size: int) -> None:
        self._values += values
        self._bytes += size
        if self._values > _VALUES:
            raise TextError(f"a document has more than {_VALUES} values, with repeated ones")
        if self._bytes > self._limits.frame_bytes:
            what = "the size of a document, with repeated values"
            raise over(self._limits, "frame_bytes", self._bytes, what)

    def _anchor(self, anchor: str | None, value: Any, before: tuple[int, int]) -> None:
        if anchor is not None:
            values, size = before
            self._anchors[anchor] = (value, self._values - values, self._bytes - size)

    def _add(self, value: Any) -> None:
        """Add a value to the innermost collection."""
        if not self._open:
            self.value = value
            return
        within = self._open[-1][0]
        if isinstance(within, list):
            within.append(value)
        elif self._keys[-1] is _NO_KEY:
            if not isinstance(value, str):
                raise TextError("a key must be a string")
            if value in within:
                raise TextError(f"the key {value!r} occurs twice")
            self._keys[-1] = value
        else:
            within[self._keys[-1]] = value
            self._keys[-1] = _NO_KEY


def _scalar(event: Any) -> Any:
    """The JSON value of a scalar."""
    text: str = event.value.translate(_RESTORED)
    tag = event.tag
    if tag == _CORE + "str" or tag == "!" or (tag is None and not event.implicit[0]):
        return text
    if tag is None or (tag.startswith(_CORE) and tag[len(_CORE) :] in _KINDS):
        value = _plain(text)
        if tag is not None and type(value) not in _KINDS[tag[len(_CORE) :]]:
            raise TextError(f"{text!r} is not of type {tag[len(_CORE) :]}")
        return value
    raise TextError(f"the tag {tag} has no meaning here")


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
}


def _plain(text: str) -> Any:
    """The value of a plain scalar in the core schema."""
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if len(text) > _DIGITS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OTHER_INTEGER.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise TextError(f"{text} is not a number of JSON")
        return value
    if _NO_NUMBER.fullmatch(text):
        raise TextError(f"{text} is not a number of JSON")
    return text

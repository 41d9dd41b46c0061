"""Results in JSON: one solution is held at a time.

Reference: SPARQL 1.2 Query Results JSON Format. Members may be in any order; unknown ones are
skipped.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import LimitError, TextError
from ..formats.reading import too_deep
from .terms import Row, TextFormat, check_count

_SPACE: Final = re.compile(r"[ \t\r\n]*+")
#: Characters before the end in which an error may be due to text that is still to come: an escape
#: of a pair of surrogates is the longest.
_ESCAPE: Final = 12
#: Maximum number of quotes, commas, objects and arrays of a value: 16 for each variable of the
#: default limits. They take up to 100 bytes of memory each.
_PARTS: Final = 1 << 20
#: Bytes that an empty solution before the head takes in memory.
_HELD_BYTES: Final = 64
#: Members that may occur once.
_ONCE: Final = frozenset(("head", "results", "boolean", "bindings"))

_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(members)
    if len(made) < len(members):
        raise TextError("an object has two members of the same name")
    return made


def _constant(name: str) -> None:
    raise TextError(f"the text is not JSON: {name}")


# Numbers are not used, and Python does not read integers of many digits.
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=float, parse_constant=_constant
)


class _Text:
    """JSON in chunks: objects and arrays are entered, and any other value is read at once."""

    def __init__(self, chunks: Iterator[bytes], limits: Limits) -> None:
        self._chunks = chunks
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._pos = 0
        self._ended = False

    def members(self, what: str) -> Iterator[str]:
        """The names of an object's members; the caller reads the value of each."""
        seen = set()
        for _ in self.parts("{}", f"{what} must be an object"):
            name = self.value()
            if type(name) is not str or self.mark() != ":":
                raise TextError("the text is not JSON: a member has a name and a colon")
            self._pos += 1
            if name in _ONCE:
                if name in seen:
                    raise TextError(f'there are two members "{name}"')
                seen.add(name)
            yield name

    def parts(self, marks: str, message: str) -> Iterator[None]:
        """Enter an object or array: the caller reads each of its parts, without the commas."""
        if self.mark() != marks[0]:
            raise TextError(message)
        self._pos += 1
        if self.mark() != marks[1]:
            yield
            while self.mark() == ",":
                self._pos += 1
                yield
            if self.mark() != marks[1]:
                raise TextError(f"the text is not JSON: ',' or {marks[1]!r} is missing")
        self._pos += 1

    def mark(self) -> str:
        """The next character that is not white space; an empty string at the end."""
        while True:
            found = _SPACE.match(self._text, self._pos)
            assert found is not None
            self._pos = found.end()
            if self._pos < len(self._text):
                return self._text[self._pos]
            if self._ended:
                return ""
            self._more(1)

    def value(self) -> Any:
        """Read a value; neither its length nor its number of parts may exceed the limits."""
        self.mark()
        while True:
            size = len(self._text) - self._pos
            try:
                value, end = _DECODER.raw_decode(self._text, self._pos)
            except json.JSONDecodeError as error:
                is_cut = error.pos > len(self._text) - _ESCAPE or error.msg.startswith("Unterm")
                if self._ended or not is_cut:
                    raise TextError(f"the text is not JSON: {error.msg}") from None
            except RecursionError:
                raise too_deep() from None
            else:
                # A number may go on.
                is_whole = type(value) in (dict, list, str) or end + _ESCAPE <= len(self._text)
                if is_whole or self._ended:
                    self._check_size(end)
                    self._pos = end
                    return value
            self._check_size(len(self._text))
            # Before the parts of a long value become objects.
            if size > _PARTS and sum(self._text.count(mark, self._pos) for mark in '",[{') > _PARTS:
                raise LimitError(f"a value has more than {_PARTS:,} quotes, commas and brackets")
            # Long values are read again as they grow by a part, so that this takes linear time.
            self._more(1 + size // 8)

    def _check_size(self, end: int) -> None:
        most = self._limits.string_bytes
        size = end - self._pos
        if size > most // 4:
            size = len(self._text[self._pos : end].encode(errors="surrogatepass"))
            if size > most:
                raise over(self._limits, "string_bytes", size, "the length of a string or solution")

    def _more(self, least: int) -> None:
        """Read more text: that many characters, if there are."""
        parts = [self._text[self._pos :]]
        size = 0
        try:
            while size < least and not self._ended:
                chunk = next(self._chunks, b"")
                self._ended = not chunk
                parts.append(self._decoder.decode(chunk, self._ended))
                size += len(parts[-1])
        except UnicodeDecodeError as error:
            raise TextError(f"the text is not JSON: it is not UTF-8 ({error.reason})") from None
        self._text = "".join(parts)
        self._pos = 0


def _rows(chunks: Iterator[bytes], limits: Limits) -> Iterator[Row]:
    text = _Text(chunks, limits)
    names: list[str] | None = None
    boolean: Any = None
    #: Solutions before the head.
    early: list[str] | None = None
    seen = set()
    for member in text.members("the document"):
        seen.add(member)
        if member == "head":
            names = _names(text.value(), limits)
            if names is not None and early is not None:
                yield None, names
                yield from ((None, json.loads(each)) for each in early)
        elif member == "boolean":
            boolean = text.value()
            if type(boolean) is not bool:
                raise TextError('"boolean" must be true or false')
        elif member != "results":
            text.value()
        else:
            for part in text.members('"results"'):
                seen.add(part)
                if part != "bindings":
                    text.value()
                elif names is None:
                    early = _held(_solutions(text), limits)
                else:
                    yield None, names
                    yield from _solutions(text)
    if text.mark():
        raise TextError("the text is not JSON: there is more than a document")
    if len(seen & {"results", "boolean"}) != 1:
        which = "both" if "results" in seen else "neither"
        raise TextError(f'there must be either "results" or "boolean", but there are {which}')
    if boolean is not None:
        yield None, boolean
    elif "bindings" not in seen or names is None:
        what = 'head has no "vars"' if names is None else 'results have no "bindings"'
        raise TextError(f"the {what}")


def _names(head: Any, limits: Limits) -> list[str] | None:
    if type(head) is not dict:
        raise TextError('"head" must be an object')
    names = head.get("vars")
    if names is not None:
        if type(names) is not list or not set(map(type, names)) <= {str}:
            raise TextError('"vars" must be an array of strings')
        check_count(len(names), limits)
    return names


def _solutions(text: _Text) -> Iterator[Row]:
    for number, _ in enumerate(text.parts("[]", '"bindings" must be an array'), 1):
        solution = text.value()
        if type(solution) is not dict:
            raise TextError("a solution is not an object").locate(row=number)
        yield None, solution


def _held(solutions: Iterator[Row], limits: Limits) -> list[str]:
    """Solutions before the head, where rdflib writes them, as text: it takes less memory than
    objects."""
    held = []
    size = 0
    for _, solution in solutions:
        held.append(_dumps(solution))
        size += len(held[-1]) + _HELD_BYTES
        if size > limits.string_bytes:
            raise over(limits, "string_bytes", size, "the size of the results before their head")
    return held


_FORMAT: Final = TextFormat(
    rows=_rows,
    head=lambda names: f'{{"head":{{"vars":{_dumps(list(names))}}},"results":{{"bindings":[',
    opening=lambda name: f"{_dumps(name)}:",
    term_text=_dumps,
    boolean=lambda value: _dumps({"head": {}, "boolean": value}) + "\n",
    around=("{", "}"),
    between=",\n",
    separator=",",
    foot="]}}\n",
)
FORMATS: Final = {"srj": _FORMAT}

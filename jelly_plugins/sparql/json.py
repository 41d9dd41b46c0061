"""Results in JSON.

Reference: SPARQL 1.2 Query Results JSON Format. Members may be in any order; unknown ones are
skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, LimitError, TextError
from ..formats.reading import DEPTH, too_deep
from ..io.sources import without_mark
from ..lazy import library
from .terms import Row, TextFormat, check_count

#: Text whose escapes are whole, and whose surrogates come in pairs.
_WHOLE: Final = re.compile(
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+",
    re.DOTALL,
)
#: Bytes of a string or number from which on text is gathered.
_LONG: Final = 1 << 16
#: Bytes of the longest escape, a pair of surrogates.
_ESCAPE: Final = 12
#: Bytes that an empty solution before the head takes in memory.
_HELD_BYTES: Final = 64
#: Levels that objects and arrays in a solution may have: more than terms need.
_SOLUTION_DEPTH: Final = 256

# The parser makes decimal numbers.
_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=float).encode


def _rows(chunks: Iterator[bytes], limits: Limits) -> Iterator[Row]:
    """Read the rows; solutions before the head are held, up to ``string_bytes`` of memory."""
    ijson = library("ijson", "SPARQL JSON", "results")
    try:
        yield from _Document(ijson, chunks, limits).rows()
    except JellyError:
        raise
    except SystemError:
        raise LimitError("a number has more digits than Python reads") from None
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        # The parser's message has the place on lines of its own.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TextError(f"the text is not JSON: {reason[:200]}") from None


class _Document:
    """Reads a document from the parser's events; only the objects of solutions are made."""

    def __init__(self, ijson: Any, chunks: Iterator[bytes], limits: Limits) -> None:
        self._limits = limits
        self._events = self._parsed(ijson, chunks)
        #: Bytes that were parsed since a part was read that need not be held.
        self._unused = 0
        self._names: list[str] | None = None
        self._boolean: bool | None = None
        #: Solutions that came before the head, as text; None before there are solutions.
        self._early: list[str] | None = None

    def _parsed(self, ijson: Any, chunks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        held: list[bytes] = []
        #: Bytes of ``held``, and those that were parsed since the last event.
        size = parsed = 0
        for chunk in chain(_without_halves(without_mark(chunks)), (b"",)):
            self._check_size(self._unused, "the length of a string or solution")
            self._unused += len(chunk)
            held.append(chunk)
            size += len(chunk)
            # The parser reads a string or number that goes on from its start again.
            if chunk and size + parsed > _LONG and size < parsed:
                continue
            # An empty text would be the end for it.
            if text := b"".join(held):
                parser.send(text)
            parsed = 0 if events else parsed + size
            held.clear()
            size = 0
            yield from events
            events.clear()
        parser.close()

    def _check_size(self, size: int, what: str) -> None:
        if size > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", size, what)

    def rows(self) -> Iterator[Row]:
        seen = set()
        for member in self._members("the document", "head", "results", "boolean"):
            seen.add(member)
            if member == "head":
                self._read_head()
                if self._names is not None and self._early is not None:
                    yield None, self._names
                    for text in self._early:
                        yield None, json.loads(text)
            elif member == "results":
                yield from self._results()
            elif member == "boolean":
                event, self._boolean = next(self._events)
                if event != "boolean":
                    raise TextError('"boolean" must be true or false')
            else:
                self._skip()
        # The parser rejects text after the document.
        for _ in self._events:
            pass
        if len(seen & {"results", "boolean"}) != 1:
            which = "both" if "results" in seen else "neither"
            raise TextError(f'there must be either "results" or "boolean", but there are {which}')
        if self._boolean is not None:
            yield None, self._boolean
        elif self._early is None:
            raise TextError('the results have no "bindings"')
        elif self._names is None:
            raise TextError('the head has no "vars"' if "head" in seen else 'there is no "head"')

    def _read_head(self) -> None:
        for member in self._members('"head"', "vars"):
            if member != "vars":
                self._skip()
                continue
            self._names = []
            for event, name in self._items('"vars"'):
                if event != "string":
                    raise TextError("the name of a variable is not a string")
                self._names.append(name)
                check_count(len(self._names), self._limits)

    def _results(self) -> Iterator[Row]:
        """The names and the solutions, unless the head is still to come."""
        for member in self._members('"results"', "bindings"):
            if member != "bindings":
                self._skip()
                continue
            early = self._early = []
            size = 0
            if self._names is not None:
                yield None, self._names
            for number, (event, value) in enumerate(self._items('"bindings"'), 1):
                if event != "start_map":
                    raise TextError("a solution is not an object").locate(row=number)
                solution = self._value(event, value, 0)
                if self._names is not None:
                    yield None, solution
                    continue
                # Text takes less memory than objects.
                early.append(_dumps(solution))
                size += len(early[-1]) + _HELD_BYTES
                self._check_size(size, "the size of the results before their head")

    def _members(self, what: str, *known: str) -> Iterator[str]:
        """The names of an object's members; the caller reads the value of each.

        :param known: members that may not occur twice.
        """
        if next(self._events)[0] != "start_map":
            raise TextError(f"{what} must be an object")
        seen = set()
        for event, name in self._events:
            self._unused = 0
            if event == "end_map":
                return
            if name in seen:
                raise TextError(f'there are two members "{name}"')
            if name in known:
                seen.add(name)
            yield name

    def _items(self, what: str) -> Iterator[tuple[str, Any]]:
        """The first event of each item of an array; the caller reads the others."""
        if next(self._events)[0] != "start_array":
            raise TextError(f"{what} must be an array")
        for item in self._events:
            self._unused = 0
            if item[0] == "end_array":
                return
            yield item

    def _value(self, event: str, value: Any, depth: int) -> Any:
        """Make the value that begins with an event."""
        if depth > _SOLUTION_DEPTH:
            raise LimitError(f"a solution is nested more than {_SOLUTION_DEPTH} deep")
        if event == "start_map":
            members: dict[str, Any] = {}
            for event, key in self._events:
                if event == "end_map":
                    break
                if key in members:
                    raise TextError(f"an object has two members {key[:80]!r}")
                event, value = next(self._events)
                is_text = event == "string"
                members[key] = value if is_text else self._value(event, value, depth + 1)
            return members
        if event == "start_array":
            items = []
            for event, value in self._events:
                if event == "end_array":
                    break
                items.append(self._value(event, value, depth + 1))
            return items
        return value

    def _skip(self) -> None:
        """Skip a value."""
        depth = 0
        for event, _ in self._events:
            self._unused = 0
            depth += event.startswith("start") - event.startswith("end")
            if depth > DEPTH:
                raise too_deep()
            if not depth:
                return


def _without_halves(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of JSON that end outside of escapes, whose surrogates come in pairs: the parser would
    replace half of a pair.

    :raises TextError: an escape is half of a pair, or invalid.
    """
    rest = b""
    for chunk in chain(filter(None, chunks), (b"",)):
        data = rest + chunk
        whole = _WHOLE.match(data)
        assert whole is not None
        rest = data[whole.end() :]
        if len(rest) >= _ESCAPE or (rest and not chunk):
            escape = rest[:6].decode(errors="replace")
            raise TextError(f"{escape!r} is half of a character, or not an escape")
        yield whole[0]


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

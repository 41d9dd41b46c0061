"""Results in JSON: :func:`read_json` reads them, :func:`json_chunks` and :func:`json_boolean`
write.

Reference: SPARQL 1.2 Query Results JSON Format. Members may be in any order; unknown ones are
skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from ..codec import Describe, Limits, TermFactory
from ..codec.common.limits import over
from ..errors import JellyError, LimitError, TermError, TextError
from ..formats.depth import DEPTH, too_deep
from ..io.sources import without_mark
from ..lazy import library
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

#: The members of a document that this module reads, and the event with which the value of each
#: begins.
_VALUES: Final[dict[tuple[str, ...], str]] = {
    (): "start_map",
    ("head",): "start_map",
    ("head", "vars"): "start_array",
    ("results",): "start_map",
    ("results", "bindings"): "start_array",
    ("boolean",): "boolean",
}
_VARIABLES: Final = ["head", "vars"]
_SOLUTIONS: Final = ["results", "bindings"]
#: What an event before the head counts as: the size of a small object in memory.
_EVENT_BYTES: Final = 64
_KINDS: Final = {"start_map": "an object", "start_array": "an array", "boolean": "true or false"}

#: An escape in a string: a pair of surrogates, the start of an escape or of a pair at the end of a
#: chunk (group 1), half of a pair (group 2), or any other.
_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z"
    rb"|\\(?:u[0-9a-fA-F]{0,3})?\Z)"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)


def read_json(chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits) -> Results:
    """Read the header; solutions before it are held, up to ``string_bytes`` of memory.

    :raises JellyError: here or while iterating; the text is not JSON or not SPARQL results, or the
        factory rejects a term. From the first solution on, with the number of the solution as row.
    """
    document = _Document(factory, limits)
    solutions = document.solutions(chunks)
    # The first item is a mark: the header was read.
    next(solutions)
    variables = (document.variables or []) if document.boolean is None else []
    return Results(variables, document.boolean, solutions)


class _Document:
    """Reads a document from the events of ``ijson.basic_parse``; only the objects of solutions are
    made."""

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        self.variables: list[str] | None = None
        self.boolean: bool | None = None
        self._limits = limits
        self._terms = TermReader(factory, limits)
        self._names: list[str] = []
        #: Solutions as objects of JSON, the open objects and arrays of the next one, and its last
        #: key.
        self._found: list[Any] = []
        self._open: list[Any] = []
        self._key = ""
        #: Number of open objects and arrays, and the keys at which the outer three are.
        self._depth = 0
        self._path: list[str] = []
        #: The members of :data:`_VALUES` that were read.
        self._seen: set[tuple[str, ...]] = set()

    def solutions(self, chunks: Iterator[bytes]) -> Iterator[Solution]:
        """A mark once the variables or the result of ASK are known, then the solutions."""
        begun = False
        row = 0
        for found in self._objects(chunks):
            if not begun:
                begun = True
                yield ()
            for each in found:
                row += 1
                try:
                    solution = self._solution(each)
                except TermError as error:
                    raise TextError(error.message).locate(row=row) from None
                except JellyError as error:
                    error.locate(row=row)
                    raise
                yield solution

    def _solution(self, given: Any) -> Solution:
        if not isinstance(given, dict):
            raise TextError("a solution is not an object")
        assert self.variables is not None
        parsed = self._terms.parsed
        solution = tuple(
            [parsed(given[name]) if name in given else None for name in self.variables]
        )
        for name in given.keys() - self.variables:
            raise TextError(f"the variable {name[:80]!r} is not in the head")
        return solution

    def _objects(self, chunks: Iterator[bytes]) -> Iterator[list[Any]]:
        """The objects of solutions, some at a time, once the variables are known.

        :raises JellyError: the document is malformed, or a part of it is too long.
        """
        ijson = library("ijson", "SPARQL JSON", "results")
        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        # Bytes since the last event, and the size of the solutions before the head or of an open
        # one.
        waiting = held = 0
        try:
            for chunk in _without_halves(without_mark(chunks)):
                if not chunk:
                    # It would be the end of the text for the parser.
                    continue
                parser.send(chunk)
                waiting = 0 if events else waiting + len(chunk)
                self._check_bytes(waiting, "the length of a string")
                count = len(events)
                self._follow(events)
                events.clear()
                if ("results",) not in self._seen:
                    continue
                if self.variables is None:
                    held += count * _EVENT_BYTES
                    self._check_bytes(held, "the size of the results before their head")
                    continue
                held = held + len(chunk) if self._open and not self._found else 0
                self._check_bytes(held, "the length of a solution")
                yield self._taken()
            parser.close()
            self._follow(events)
        except JellyError:
            raise
        except SystemError:
            raise LimitError("a number has more digits than Python reads") from None
        except (ijson.JSONError, ValueError, ArithmeticError) as error:
            # The parser's message has the place on lines of its own.
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise TextError(f"the text is not JSON: {reason[:200]}") from None
        self._check_whole()
        yield self._taken()

    def _taken(self) -> list[Any]:
        found, self._found = self._found, []
        return found

    def _check_bytes(self, size: int, what: str) -> None:
        if size > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", size, what)

    def _follow(self, events: list[tuple[str, Any]]) -> None:
        """Read the structure of the document, the names of the variables, the result of ASK, and
        the solutions."""
        path = self._path
        inside = self._open
        for event, value in events:
            if event == "map_key":
                if inside:
                    if value in inside[-1]:
                        raise TextError(f"an object has two members {value[:80]!r}")
                    self._key = value
                elif self._depth < 3:
                    path[self._depth - 1 :] = [value]
                continue
            if event in ("end_map", "end_array"):
                if inside:
                    done = inside.pop()
                    if not inside:
                        self._found.append(done)
                else:
                    self._end()
                continue
            made = {} if event == "start_map" else [] if event == "start_array" else value
            if inside:
                outer = inside[-1]
                if type(outer) is dict:
                    outer[self._key] = made
                else:
                    outer.append(made)
            elif self._depth < 3 or path != _SOLUTIONS:
                self._begin(event, value)
                continue
            if made is not value:
                inside.append(made)
                if len(inside) + 3 > DEPTH:
                    raise too_deep()
            elif not inside:
                self._found.append(made)

    def _end(self) -> None:
        """Read the end of an object or array outside of the solutions."""
        self._depth -= 1
        del self._path[self._depth :]
        if self._path == _VARIABLES and self._depth == 2 and self.variables is None:
            check_variables(self._names, self._limits)
            self.variables = self._names

    def _begin(self, event: str, value: Any) -> None:
        """Read a value, or the start of one, outside of the solutions."""
        depth = self._depth
        if depth < 3 and depth == len(self._path):
            self._check_member(tuple(self._path), event, value)
        elif depth == 3 and self._path == _VARIABLES:
            if event != "string":
                raise TextError("the name of a variable is not a string")
            self._names.append(value)
            check_count(len(self._names), self._limits)
        if event in ("start_map", "start_array"):
            self._depth = depth + 1
            if self._depth > DEPTH:
                raise too_deep()

    def _check_member(self, place: tuple[str, ...], event: str, value: Any) -> None:
        """Check the start of a value of the outer three levels."""
        expected = _VALUES.get(place)
        if expected is None:
            return
        name = f'"{place[-1]}"' if place else "the document"
        if event != expected:
            raise TextError(f"{name} must be {_KINDS[expected]}")
        if place in self._seen:
            raise TextError(f"there are two members {name}")
        self._seen.add(place)
        if event == "boolean":
            self.boolean = value

    def _check_whole(self) -> None:
        """Check that the document has its required members."""
        seen = {".".join(place) for place in self._seen}
        if {"results", "boolean"} <= seen:
            raise TextError('there are both "results" and "boolean"')
        if not seen & {"results", "boolean"}:
            raise TextError('there are neither "results" nor "boolean"')
        if "results" in seen:
            if "results.bindings" not in seen:
                raise TextError('the results have no "bindings"')
            if "head.vars" not in seen:
                raise TextError(
                    'the head has no "vars"' if "head" in seen else 'there is no "head"'
                )


def _without_halves(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of JSON that end outside of escapes, whose surrogates come in pairs: the parser would
    replace half of a pair.

    :raises TextError: an escape is half of a pair.
    """
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        rest = b""
        if b"\\" in data:
            for found in _ESCAPE.finditer(data):
                part, half = found.groups()
                if half:
                    raise TextError(f"{half.decode()} is half of a character")
                rest = part or b""
        yield data.removesuffix(rest)
    yield rest


_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_chunks(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    describe: Describe,
    on_long: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """Solutions as JSON, see :func:`.terms.written`."""
    keys = [_dumps(name) + ":" for name in variables]
    mark = ""

    def row_text(texts: list[str | None]) -> str:
        nonlocal mark
        bound = [key + text for key, text in zip(keys, texts, strict=True) if text is not None]
        before, mark = mark, ",\n"
        return before + "{" + ",".join(bound) + "}"

    return written(
        "srj",
        ('{"head":{"vars":' + _dumps(list(variables)) + '},"results":{"bindings":[', "]}}\n"),
        variables,
        solutions,
        describe=describe,
        term_text=lambda parts: _dumps(_object(parts)),
        row_text=row_text,
        on_long=on_long,
    )


def json_boolean(value: bool) -> bytes:
    """The result of an ASK query as JSON."""
    return b'{"head":{},"boolean":%s}\n' % (b"true" if value else b"false")


def _object(parts: tuple[Any, ...]) -> dict[str, Any]:
    """A term as an object of JSON."""
    kind, *values = parts
    if kind == "triple":
        return {"type": kind, "value": dict(zip(PARTS, map(_object, values), strict=True))}
    found = {"type": kind, "value": values[0]}
    if kind == "literal":
        _, datatype, language, direction = values
        if language is not None:
            found["xml:lang"] = language
            if direction:
                found["its:dir"] = direction
        elif datatype is not None:
            found["datatype"] = datatype
    return found


FORMAT: Final = TextFormat(read_json, json_chunks, json_boolean)

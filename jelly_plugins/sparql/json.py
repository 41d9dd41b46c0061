"""Results in JSON: :func:`read_json` reads them, :func:`json_chunks` and :func:`json_boolean`
write.

Reference: SPARQL 1.2 Query Results JSON Format. Members may be in any order; unknown ones are
skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from ..codec import Describe, Kind, Limits, TermFactory
from ..codec.common.limits import over
from ..codec.text.ntriples import written_label
from ..errors import JellyError, LimitError, TermError, TextError
from ..formats.depth import DEPTH, too_deep
from ..io.sources import without_mark
from ..lazy import library
from .w3c import (
    PARTS,
    Results,
    Terms,
    TermTexts,
    check_count,
    check_variables,
    check_written_depth,
    chunks_of,
    opened,
)

#: A part of JSON: its kind, and the key or value.
_Event = tuple[str, Any]

#: Bytes that a solution takes besides its terms.
_SOLUTION_BYTES: Final = 64
_MEMBERS: Final = frozenset(("type", "value", "datatype", "xml:lang", "its:dir"))
_KINDS: Final = {"uri": "uri", "bnode": "bnode", "literal": "literal", "typed-literal": "literal"}

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
    """Read the header; solutions before it are held, up to ``string_bytes`` of JSON.

    :raises JellyError: here or while iterating; the text is not JSON or not SPARQL results, or the
        factory rejects a term. From the first solution on, with the number of the solution as row.
    """
    document = _Document(chunks, factory, limits)
    return opened(document, document.bindings())


class _Document:
    """Reads a document from its events, see ``ijson.basic_parse``."""

    def __init__(self, chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits) -> None:
        self.variables: list[str] | None = None
        self.boolean: bool | None = None
        self._limits = limits
        self._terms = Terms(factory, limits)
        self._names: frozenset[str] = frozenset()
        #: Bytes that were read.
        self._size = 0
        self._row = 0
        self._events = chain.from_iterable(self._parsed(chunks))

    def bindings(self) -> Generator[dict[str, Any]]:
        """An empty mark once the variables or the result of ASK are known, then the terms of each
        solution by name."""
        try:
            yield from self._document()
        except TermError as error:
            raise TextError(error.message).locate(row=self._row or None) from None
        except JellyError as error:
            if self._row:
                error.locate(row=self._row)
            raise

    def _document(self) -> Generator[dict[str, Any]]:
        held: list[dict[str, Any]] = []
        begun = False
        seen: set[str] = set()
        for key in self._members("the results"):
            if key in ("head", "results", "boolean"):
                self._once(key, seen)
            if key == "head":
                self._head()
                if held and self.variables is not None:
                    begun = True
                    yield {}
                    yield from self._known(held)
                    held.clear()
            elif key == "results":
                if self.variables is not None:
                    begun = True
                    yield {}
                    yield from self._results()
                else:
                    start = self._size
                    for each in self._results():
                        held.append(each)
                        size = self._size - start + len(held) * _SOLUTION_BYTES
                        if size > self._limits.string_bytes:
                            what = "the length of the results before their head"
                            raise over(self._limits, "string_bytes", size, what)
            elif key == "boolean":
                event, value = next(self._events)
                if event != "boolean":
                    raise TextError("the result of ASK is not true or false")
                self.boolean = value
            else:
                self._skip()
        self._end(seen)
        if not begun:
            yield {}

    def _end(self, seen: set[str]) -> None:
        """Check the document as a whole, and that no text follows."""
        for _ in self._events:
            pass
        if "results" in seen and "boolean" in seen:
            raise TextError('there are both "results" and "boolean"')
        if not seen & {"results", "boolean"}:
            raise TextError('there are neither "results" nor "boolean"')
        if "results" in seen and self.variables is None:
            raise TextError('the head has no "vars"' if "head" in seen else 'there is no "head"')

    def _head(self) -> None:
        seen: set[str] = set()
        for key in self._members('"head"'):
            if key != "vars":
                self._skip()
                continue
            self._once(key, seen)
            names = []
            for event, name in self._items('"vars"'):
                if event != "string":
                    raise TextError("the name of a variable is not a string")
                names.append(name)
                check_count(len(names), self._limits)
            check_variables(names, self._limits)
            self.variables = names
            self._names = frozenset(names)

    def _results(self) -> Iterator[dict[str, Any]]:
        seen: set[str] = set()
        for key in self._members('"results"'):
            if key != "bindings":
                self._skip()
                continue
            self._once(key, seen)
            for event, _ in self._items('"bindings"'):
                self._row += 1
                if event != "start_map":
                    raise TextError("a solution is not an object")
                yield self._solution()
        if not seen:
            raise TextError('the results have no "bindings"')

    def _solution(self) -> dict[str, Any]:
        """The terms of a solution that was begun."""
        events = self._events
        names = self.variables
        found: dict[str, Any] = {}
        for event, name in events:
            if event == "end_map":
                break
            if name in found:
                raise TextError(f"the variable {name[:80]!r} is bound twice in a solution")
            if names is not None and name not in self._names:
                raise self._unknown(name)
            found[name] = self._term(0)
            check_count(len(found), self._limits)
        return found

    def _known(self, solutions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Solutions that were read before the names of the variables."""
        for row, each in enumerate(solutions, 1):
            for name in each:
                if name not in self._names:
                    raise self._unknown(name).locate(row=row)
            yield each

    def _unknown(self, name: str) -> TextError:
        return TextError(f"the variable {name[:80]!r} is not in the head")

    def _term(self, depth: int) -> Any:
        """Read a term, within ``depth`` quoted triples."""
        events = self._events
        if next(events)[0] != "start_map":
            raise TextError("a term is not an object")
        parts: dict[str, Any] = {}
        triple = None
        for event, key in events:
            if event == "end_map":
                break
            if key not in _MEMBERS:
                self._skip()
                continue
            if key in parts:
                raise TextError(f'a term has two members "{key}"')
            event, value = next(events)
            if event == "start_map" and key == "value":
                value = triple = self._triple(depth + 1)
            elif event != "string":
                raise TextError(f'"{key}" of a term is not a string')
            parts[key] = value
        get = parts.get
        given = get("type")
        if given is None or "value" not in parts:
            raise TextError(f'a term has no "{"type" if given is None else "value"}"')
        if (given == "triple") != (triple is not None):
            raise TextError("the value of a term does not match its type")
        if triple is not None:
            return self._terms.triple(triple)
        kind = _KINDS.get(given)
        if kind is None:
            raise TextError(f"{given[:80]!r} is not a type of term")
        return self._terms.term(
            kind, parts["value"], get("datatype"), get("xml:lang"), get("its:dir")
        )

    def _triple(self, depth: int) -> dict[str, Any]:
        """The parts of a quoted triple whose object was begun."""
        self._terms.check_depth(depth)
        found: dict[str, Any] = {}
        for event, key in self._events:
            if event == "end_map":
                break
            if key in found:
                raise TextError(f'a quoted triple has two members "{key}"')
            if key in PARTS:
                found[key] = self._term(depth)
            else:
                self._skip()
        return found

    # Events

    def _members(self, what: str) -> Iterator[str]:
        """The keys of an object; the caller reads each value."""
        if next(self._events)[0] != "start_map":
            raise TextError(f"{what} must be an object")
        for event, key in self._events:
            if event == "end_map":
                return
            yield key

    def _items(self, what: str) -> Iterator[_Event]:
        """The events with which the items of an array begin; the caller reads the rest of each."""
        if next(self._events)[0] != "start_array":
            raise TextError(f"{what} must be an array")
        for event in self._events:
            if event[0] == "end_array":
                return
            yield event

    def _skip(self) -> None:
        """Skip a value.

        :raises LimitError: it is nested too deep.
        """
        depth = 0
        for event, _ in self._events:
            if event in ("start_map", "start_array"):
                depth += 1
                if depth > DEPTH:
                    raise too_deep()
            elif event in ("end_map", "end_array"):
                depth -= 1
            if not depth:
                return

    @staticmethod
    def _once(key: str, seen: set[str]) -> None:
        if key in seen:
            raise TextError(f'there are two members "{key}"')
        seen.add(key)

    def _parsed(self, chunks: Iterator[bytes]) -> Iterator[list[_Event]]:
        """The events of a text, some at a time.

        :raises TextError: it is not JSON.
        :raises LimitError: a string or number is too long.
        """
        ijson = library("ijson", "SPARQL JSON", "results")
        found = ijson.sendable_list()
        parser = ijson.basic_parse_coro(found)
        waiting = 0
        try:
            for chunk in _without_halves(without_mark(chunks)):
                if not chunk:
                    # It would be the end of the text for the parser.
                    continue
                self._size += len(chunk)
                parser.send(chunk)
                waiting = 0 if found else waiting + len(chunk)
                if waiting > self._limits.string_bytes:
                    raise over(self._limits, "string_bytes", waiting, "the length of a string")
                yield found
                found.clear()
            parser.close()
            yield found
        except JellyError:
            raise
        except SystemError:
            raise LimitError("a number has more digits than Python reads") from None
        except (ijson.JSONError, ValueError, ArithmeticError) as error:
            # The parser's message has the place on lines of its own.
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise TextError(f"the text is not JSON: {reason[:200]}") from None


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


def json_chunks(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    describe: Describe,
    *,
    on_long: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """Solutions as JSON, see :func:`.w3c.chunks_of`.

    :param on_long: called with the length of each long term before it is copied.
    """
    keys = [_dumps(name) + ":" for name in variables]
    text_of = TermTexts(lambda term: _dumps(_json(term, describe, 0)), on_long)
    mark = ""

    def row_text(solution: Sequence[Any]) -> str:
        nonlocal mark
        bound = [
            key + text_of(term)
            for key, term in zip(keys, solution, strict=True)
            if term is not None
        ]
        before, mark = mark, ",\n"
        return before + "{" + ",".join(bound) + "}"

    head = '{"head":{"vars":' + _dumps(list(variables)) + '},"results":{"bindings":['
    return chunks_of(head, len(variables), solutions, row_text, "]}}\n")


_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_boolean(value: bool) -> bytes:
    """The result of an ASK query as JSON."""
    return b'{"head":{},"boolean":%s}\n' % (b"true" if value else b"false")


def _json(term: Any, describe: Describe, depth: int) -> dict[str, Any]:
    """A term as an object of JSON."""
    check_written_depth(depth)
    kind, *parts = describe(term)
    if kind == Kind.IRI:
        return {"type": "uri", "value": parts[0]}
    if kind == Kind.BLANK_NODE:
        return {"type": "bnode", "value": written_label(parts[0])}
    if kind == Kind.TRIPLE:
        value = {
            name: _json(part, describe, depth + 1) for name, part in zip(PARTS, parts, strict=True)
        }
        return {"type": "triple", "value": value}
    lex, langtag, datatype = parts
    literal = {"type": "literal", "value": lex}
    if langtag is not None:
        language, mark, direction = langtag.partition("--")
        literal["xml:lang"] = language
        if mark:
            literal["its:dir"] = direction
    elif datatype is not None:
        literal["datatype"] = datatype
    return literal

"""What the W3C's formats of SPARQL results have in common, and JSON and TSV.

JSON is written here, pyoxigraph reads it, and reads and writes TSV. See :mod:`.csv` and :mod:`.xml`
for the others.

pyoxigraph has no other way to make solutions than to parse them, so that they reach it as JSON.

References: SPARQL 1.2 Query Results JSON Format, SPARQL Query Results XML Format, SPARQL 1.1 Query
Results CSV and TSV Formats.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from ..backends import get_backend
from ..codec import Describe, Kind, Limits, TermFactory
from ..codec.common.limits import NESTING_CEILING, over
from ..codec.common.terms import build
from ..codec.text.checking import Checker
from ..codec.text.lines import NAME_START
from ..codec.text.ntriples import written_label
from ..codec.text.transcoding import LONG_TERM
from ..errors import (
    JellyError,
    LimitError,
    StatementError,
    TermError,
)
from ..formats.depth import with_bounded_json
from ..formats.reading import (
    PARSER_ERRORS,
    ChunkFile,
    parser_error,
    pyoxigraph_module,
)
from ..io.sources import CHUNK
from .formats import ResultsFormat

#: The name of a variable: VARNAME of SPARQL.
_NAME: Final = re.compile(rf"[{NAME_START}0-9][{NAME_START}0-9\u00b7\u0300-\u036f\u203f\u2040]*+")

PARTS: Final = ("subject", "predicate", "object")

#: Solutions that are given out at once.
BATCH: Final = 1024

#: A cache of terms that reaches this many entries starts afresh.
CACHE_ENTRIES: Final = 1 << 16


def json_chunks(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    describe: Describe,
    *,
    on_long: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """Solutions as SPARQL JSON, see :func:`chunks_of`.

    :param on_long: called with the length of each long term before it is copied.
    """
    check_names(variables)
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
    yield from chunks_of(head, len(variables), solutions, row_text, "]}}\n")


class TermTexts:
    """The texts of terms, which are remembered."""

    def __init__(
        self, text_of: Callable[[Any], str], on_long: Callable[[int], object] | None = None
    ) -> None:
        self._text_of = text_of
        self._on_long = on_long
        self._known: dict[Any, str] = {}

    def __call__(self, term: Any) -> str:
        text = self._known.get(term)
        if text is None:
            text = self._text_of(term)
            if len(text) <= LONG_TERM:
                if len(self._known) >= CACHE_ENTRIES:
                    self._known.clear()
                self._known[term] = text
            elif self._on_long is not None:
                self._on_long(len(text))
        return text


def chunks_of(
    head: str,
    width: int,
    solutions: Iterable[Sequence[Any]],
    row_text: Callable[[Sequence[Any]], str],
    foot: str,
) -> Iterator[bytes]:
    """A document in chunks; memory grows with the longest solution only.

    :param width: number of variables.
    :raises JellyError: a term cannot be written; with the number of the solution, from 1, as its
        row.
    """
    parts = [head]
    size = len(head)
    for row, solution in enumerate(solutions, 1):
        if len(solution) != width:
            raise StatementError(
                f"a solution has {len(solution)} terms for {width} variables", row=row
            )
        try:
            parts.append(row_text(solution))
        except TypeError as error:
            raise TermError(f"a cell is not a term: {error}", row=row) from None
        except JellyError as error:
            error.locate(row=row)
            raise
        size += len(parts[-1])
        if size >= CHUNK:
            yield _utf8("".join(parts))
            parts.clear()
            size = 0
    parts.append(foot)
    yield _utf8("".join(parts))


def check_names(variables: Sequence[str]) -> None:
    """Check names of variables, which a SPARQL query may have.

    :raises TermError: one is not valid, or occurs twice.
    """
    if len(set(variables)) < len(variables):
        raise TermError("two variables have the same name")
    for name in variables:
        if not name:
            raise TermError("a variable has no name")
        if not _NAME.fullmatch(name):
            raise TermError(f"{name!r} is not a name that a variable of SPARQL can have")


_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise TermError("a term has a surrogate, which is not a character") from None


def json_boolean(value: bool) -> bytes:
    """The result of an ASK query as SPARQL JSON."""
    return b'{"head":{},"boolean":%s}\n' % (b"true" if value else b"false")


def checked(describe: Describe, format: ResultsFormat) -> Describe:  # noqa: A002
    """Take terms apart, and reject those that a format cannot express."""
    checker = Checker(f"the format {format}", graphs=False, quoted=True)

    def described(term: Any) -> tuple[Any, ...]:
        found = describe(term)
        kind, *parts = found
        if kind == Kind.IRI:
            checker.check_iri(parts[0])
        elif kind == Kind.LITERAL:
            lex, tag, datatype = parts
            if tag is not None:
                tag = tag.removesuffix("--ltr").removesuffix("--rtl")
            checker.check_literal(lex, tag, datatype)
        elif kind == Kind.TRIPLE:
            subject, predicate, _ = (describe(part)[0] for part in parts)
            if subject not in (Kind.IRI, Kind.BLANK_NODE) or predicate != Kind.IRI:
                raise TermError(
                    "a quoted triple has a subject that is not an IRI or a blank node, or a "
                    f"predicate that is not an IRI, which the format {format} cannot express"
                )
        return found

    return described


def _json(term: Any, describe: Describe, depth: int) -> dict[str, Any]:
    """A term as SPARQL JSON has it."""
    if depth > NESTING_CEILING:
        raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")
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
    if kind != Kind.LITERAL:
        raise TermError("the default graph is not a term of a solution")
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


def parse(chunks: Iterator[bytes], format: ResultsFormat) -> Any:  # noqa: A002
    """pyoxigraph's ``QuerySolutions`` or ``QueryBoolean`` of a text, read as it is iterated.

    :raises JellyError: it is not well-formed; while iterating, pyoxigraph's own errors.
    """
    ox = pyoxigraph_module()
    formats = {
        ResultsFormat.JSON: ox.QueryResultsFormat.JSON,
        ResultsFormat.TSV: ox.QueryResultsFormat.TSV,
    }
    file = io.BufferedReader(ChunkFile(chunks), CHUNK)
    try:
        return ox.parse_query_results(file, formats[format])
    except JellyError:
        raise
    except PARSER_ERRORS as error:
        raise parser_error(error) from None


class TextResults:
    """Results in one of the W3C's formats, in a factory's terms.

    :ivar variables: names of the variables, in order; None for a result of ASK.
    :ivar boolean: the result of an ASK query, otherwise None.
    """

    def __init__(
        self,
        chunks: Iterator[bytes],
        format: ResultsFormat,  # noqa: A002
        factory: TermFactory[Any],
        limits: Limits,
    ) -> None:
        self.boolean: bool | None = None
        self.variables: list[str] | None = None
        self._terms = _Terms(factory, limits).terms
        if format is ResultsFormat.JSON:
            chunks = with_bounded_json(chunks)
        self._found = parse(chunks, format)
        if hasattr(self._found, "variables"):
            self.variables = [variable.value for variable in self._found.variables]
        else:
            self.boolean = bool(self._found)

    def batches(self) -> Iterator[list[tuple[Any, ...]]]:
        """The solutions, some at a time.

        :raises JellyError: the text is not well-formed, or the factory rejects a term.
        """
        if self.boolean is not None:
            return
        batch = []
        try:
            for solution in self._found:
                batch.append(tuple(self._terms(solution)))
                if len(batch) == BATCH:
                    yield batch
                    batch = []
        except JellyError:
            raise
        except PARSER_ERRORS as error:
            raise parser_error(error) from None
        yield batch


class _Terms:
    """Converts pyoxigraph's terms to a factory's, each distinct one once as far as the cache
    reaches.

    A base direction becomes part of the language tag, as in ``en--ltr``.

    :param limits: ``nesting`` bounds quoted triples.
    """

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        self._limits = limits
        self._describe = get_backend("oxigraph").describe
        self._cache: dict[Any, Any] = {}
        self._makers: dict[Kind, Callable[..., Any]] = {
            Kind.IRI: factory.iri,
            Kind.BLANK_NODE: factory.blank_node,
            Kind.LITERAL: factory.literal,
            Kind.TRIPLE: factory.quoted_triple,
            Kind.DEFAULT_GRAPH: lambda: factory.default_graph,
        }

    def terms(self, given: Iterable[Any], depth: int = 0) -> list[Any]:
        """The terms of a statement, of a quoted triple, or of a solution, which may be None.

        :raises JellyError: the factory rejects one, or quoted triples are nested too deeply.
        """
        if depth > self._limits.nesting:
            raise over(self._limits, "nesting", depth, "the depth of quoted triples")
        get = self._cache.get
        return [None if term is None else get(term) or self._made(term, depth) for term in given]

    def _made(self, term: Any, depth: int) -> Any:
        if getattr(term, "direction", None) is not None:
            kind, parts = Kind.LITERAL, [term.value, f"{term.language}--{term.direction}", None]
        else:
            kind, *parts = self._describe(term)
        size = sum(len(part) for part in parts if isinstance(part, str))
        if kind is Kind.TRIPLE:
            parts = self.terms(parts, depth + 1)
        made = build(self._makers[kind], *parts)
        if size <= LONG_TERM:
            if len(self._cache) >= CACHE_ENTRIES:
                self._cache.clear()
            self._cache[term] = made
        return made

"""What the W3C's formats of SPARQL results have in common; see :mod:`.json`, :mod:`.xml` and
:mod:`.tables`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..codec import Describe, Kind, Limits, TermFactory
from ..codec.common.limits import NESTING_CEILING, over
from ..codec.common.terms import build
from ..codec.text.checking import TAGGED, Checker
from ..codec.text.lines import NAME_START
from ..codec.text.ntriples import read_label
from ..codec.text.transcoding import LONG_TERM
from ..errors import JellyError, LimitError, StatementError, TermError, TextError
from ..io.sources import CHUNK

#: The name of a variable: VARNAME of SPARQL.
_NAME: Final = re.compile(rf"[{NAME_START}0-9][{NAME_START}0-9\u00b7\u0300-\u036f\u203f\u2040]*+")

#: The parts of a quoted triple.
PARTS: Final = ("subject", "predicate", "object")

#: A cache of terms that reaches this many entries is cleared.
CACHE_ENTRIES: Final = 1 << 16

#: A solution: a term for each variable, None where it is unbound.
Solution = tuple[Any, ...]


class Results(NamedTuple):
    """Results whose header was read, and whose solutions are read as they are iterated.

    :ivar boolean: the result of an ASK query; None if there are solutions.
    """

    variables: list[str]
    boolean: bool | None
    solutions: Iterator[Solution]


class Terms:
    """Makes the terms of a factory, and keeps short ones.

    :raises JellyError: from each method; the term is not valid, or the factory rejects it.
    """

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        self._factory = factory
        self._limits = limits
        self._checker = Checker("SPARQL", graphs=False, quoted=True)
        self._kept = lru_cache(CACHE_ENTRIES)(self._made)

    def term(
        self,
        kind: str,
        text: str,
        datatype: str | None = None,
        language: str | None = None,
        direction: str | None = None,
    ) -> Any:
        """Make a term of its parts in JSON or XML.

        :param kind: ``"uri"``, ``"bnode"`` or ``"literal"``.
        """
        size = len(text) + len(datatype or "") + len(language or "")
        make = self._kept if size <= LONG_TERM else self._made
        return make(kind, text, datatype, language, direction)

    def triple(self, parts: Mapping[str, Any]) -> Any:
        """Make a quoted triple of its parts."""
        if len(parts) < len(PARTS):
            raise TextError("a quoted triple lacks a part")
        return build(self._factory.quoted_triple, *(parts[name] for name in PARTS))

    def check_depth(self, depth: int) -> None:
        """Check the depth of a quoted triple.

        :raises LimitError: it is too deep.
        """
        if depth > self._limits.nesting:
            raise over(self._limits, "nesting", depth, "the depth of quoted triples")

    def _made(
        self,
        kind: str,
        text: str,
        datatype: str | None,
        language: str | None,
        direction: str | None,
    ) -> Any:
        if kind == "uri":
            self._checker.check_iri(text)
            return build(self._factory.iri, text)
        if kind == "bnode":
            if not text:
                raise TextError("a blank node has no label")
            return build(self._factory.blank_node, read_label(text))
        # An empty tag is no language, as in XML.
        language = language or None
        if direction is not None and (language is None or direction not in ("ltr", "rtl")):
            raise TextError("a base direction is not valid, or has no language")
        if language is None:
            self._checker.check_literal(text, None, None)
            if datatype is not None:
                self._checker.check_iri(datatype)
            return build(self._factory.literal, text, None, datatype)
        if datatype is not None and datatype not in TAGGED:
            raise TextError("a literal has a language and a datatype")
        self._checker.check_literal(text, language, None)
        tag = f"{language}--{direction}" if direction else language
        return build(self._factory.literal, text, tag, None)


def check_variables(variables: Sequence[str], limits: Limits) -> None:
    """Check the names of variables.

    :raises TermError: one is not valid in SPARQL, or occurs twice.
    :raises LimitError: there are too many.
    """
    check_count(len(variables), limits)
    if len(set(variables)) < len(variables):
        raise TermError("two variables have the same name")
    for name in variables:
        if not name:
            raise TermError("a variable has no name")
        if not _NAME.fullmatch(name):
            raise TermError(f"{name[:80]!r} is not a name that a variable of SPARQL can have")


def check_count(count: int, limits: Limits) -> None:
    """Check the number of variables.

    :raises LimitError: there are too many.
    """
    if count > limits.variables:
        raise over(limits, "variables", count, "the number of variables")
    if count > limits.frame_cells:
        raise over(limits, "frame_cells", count, "the number of cells of a solution")


def opened(document: Any, bindings: Iterator[Mapping[str, Any]]) -> Results:
    """The results of a document of JSON or XML.

    :param document: has the ``variables`` and the ``boolean`` once the header was read.
    :param bindings: a mark when it was, then the terms of each solution by name.
    """
    next(bindings)
    if document.boolean is not None:
        return Results([], document.boolean, iter(()))
    variables = document.variables or []
    return Results(variables, None, _rows(bindings, variables))


def _rows(bindings: Iterator[Mapping[str, Any]], variables: Sequence[str]) -> Iterator[Solution]:
    for each in bindings:
        yield tuple(map(each.get, variables))


# Writing


def checked(describe: Describe, form: str) -> Describe:
    """Take terms apart, and reject those that a format cannot express."""
    checker = Checker(f"the format {form}", graphs=False, quoted=True)

    def described(term: Any) -> tuple[Any, ...]:
        found = describe(term)
        kind, *parts = found
        if kind == Kind.IRI:
            checker.check_iri(parts[0])
        elif kind == Kind.LITERAL:
            lex, tag, datatype = parts
            if tag is not None:
                tag = tag.removesuffix("--ltr").removesuffix("--rtl")
            checker.check_literal(lex, tag, None if datatype in TAGGED else datatype)
        elif kind == Kind.TRIPLE:
            subject, predicate, _ = (describe(part)[0] for part in parts)
            if subject not in (Kind.IRI, Kind.BLANK_NODE) or predicate != Kind.IRI:
                raise TermError(
                    "a quoted triple has a subject that is not an IRI or a blank node, or a "
                    f"predicate that is not an IRI, which the format {form} cannot express"
                )
        elif kind != Kind.BLANK_NODE:
            raise TermError("the default graph is not a term of a solution")
        return found

    return described


def check_written_depth(depth: int) -> None:
    """Check the depth of a quoted triple that is written.

    :raises LimitError: it is too deep for any reader.
    """
    if depth > NESTING_CEILING:
        raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")


class TermTexts:
    """The texts of terms; short ones are kept.

    :param on_long: called with the length of each long text before it is copied.
    """

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


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise TermError("a term has a surrogate, which is not a character") from None

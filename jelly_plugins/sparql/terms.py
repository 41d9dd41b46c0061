"""What the W3C's formats of SPARQL results have in common: their rows and terms.

In between text and the terms of a library, a term is the object that SPARQL JSON has for it,
whichever the format: only this module checks terms and makes them. See :mod:`.json`, :mod:`.xml`
and :mod:`.tables` for the formats.

Reference: SPARQL 1.2 Query Results JSON Format, section "Encoding RDF terms".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..codec import Describe, Kind, Limits, TermFactory
from ..codec.common.limits import NESTING_CEILING, over
from ..codec.common.terms import build
from ..codec.text.lines import LANGTAG, NAME_START, NOT_IN_IRI
from ..codec.text.ntriples import TAGGED_DATATYPES, read_label, written_label
from ..codec.text.transcoding import LONG_TERM
from ..errors import JellyError, StatementError, TermError, TextError, shown
from ..io.sources import CHUNK

#: The name of a variable: VARNAME of SPARQL.
_NAME: Final = re.compile(rf"[{NAME_START}0-9][{NAME_START}0-9\u00b7\u0300-\u036f\u203f\u2040]*+")
_IRI: Final = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*+:[^{NOT_IN_IRI}\ud800-\udfff]*+")
_TAG: Final = re.compile(rf"(?!.*[A-Za-z0-9]{{9}}){LANGTAG}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

#: The parts of a quoted triple.
PARTS: Final = ("subject", "predicate", "object")
_MEMBERS: Final = ("type", "value", "datatype", "xml:lang", "its:dir")

#: The highest limits.
CEILING: Final = Limits(nesting=NESTING_CEILING)
#: A cache of terms has at most this many entries.
_CACHE_ENTRIES: Final = 1 << 16

#: A row that a format's reader yields: its line, if known, and its cells: a list of texts,
#: one for each variable, or a dict of the objects of terms. Instead of cells, the first row has the
#: names of the variables, or the result of an ASK query, which is also the last row then.
Row = tuple[int | None, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class TextFormat:
    """A format of the W3C's.

    :ivar term: makes the object of the term in a cell that is text.
    :ivar opening: the text before a cell, of the name of its variable; ``closing`` that after it.
    :ivar around: the text before and after a solution; ``between`` that between two solutions, and
        ``separator`` that between two cells.
    :ivar unbound: the text of an unbound cell; None if it is omitted.
    :ivar empty: the text of cells without text.
    """

    rows: Callable[[Iterator[bytes], Limits], Iterator[Row]]
    head: Callable[[Sequence[str]], str]
    term_text: Callable[[dict[str, Any]], str]
    boolean: Callable[[bool], str]
    term: Callable[[str], dict[str, Any]] | None = None
    opening: Callable[[str], str] = lambda _: ""
    around: tuple[str, str] = ("", "\n")
    between: str = ""
    separator: str = ""
    closing: str = ""
    unbound: str | None = None
    empty: str = ""
    foot: str = ""

    def read(
        self, chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits
    ) -> Iterator[Any]:
        """Read results: first the names of the variables, or the result of an ASK query, then the
        solutions. Errors have the line, or the number of the solution, from 1."""
        terms = _TermReader(self, factory, limits)
        variables: list[str] = []
        for number, (line, cells) in enumerate(self.rows(chunks, limits)):
            try:
                if not number:
                    variables = [] if isinstance(cells, bool) else cells
                    check_variables(variables, limits)
                    yield cells
                elif type(cells) is dict:
                    for name in cells.keys() - variables:
                        raise TextError(f"the variable {name[:80]!r} is not in the head")
                    found = [
                        terms.term(cells[name]) if name in cells else None for name in variables
                    ]
                    yield tuple(found)
                else:
                    # An empty cell is unbound.
                    yield tuple([terms[cell] if cell else None for cell in cells])
            except (TermError, TextError) as error:
                row = number if number and line is None else None
                raise TextError(error.message, line=line).locate(row=row) from None
            except JellyError as error:
                error.locate(row=number or None)
                raise

    def write(
        self,
        variables: Sequence[str],
        solutions: Iterable[Sequence[Any]],
        describe: Describe,
        limits: Limits,
    ) -> Iterator[bytes]:
        """Write a document in chunks; memory grows with the longest solution only. Errors have the
        number of the solution, from 1."""
        check_variables(variables, limits)
        texts = _TermTexts(self, describe, limits)
        openings = [self.opening(name) for name in variables]
        unbound = self.unbound
        separator = self.separator
        before, after = self.around
        parts = [self.head(variables)]
        size = len(parts[0])
        for row, solution in enumerate(solutions, 1):
            try:
                if len(solution) != len(variables):
                    raise StatementError(
                        f"a solution has {len(solution)} terms for {len(variables)} variables"
                    )
                cells: list[Any] = [
                    unbound
                    if term is None
                    # Hashing tuples that are nested deeply enough ends the process.
                    else texts.made(term)
                    if isinstance(term, tuple)
                    else texts[term]
                    for term in solution
                ]
            except TypeError as error:
                raise TermError(f"a cell is not a term: {error}", row=row) from None
            except JellyError as error:
                error.locate(row=row)
                raise
            if unbound is None:
                named = zip(openings, cells, strict=True)
                cells = [opening + cell for opening, cell in named if cell is not None]
            joined = separator.join(cells) or self.empty
            most = limits.string_bytes
            if len(joined) > most // 4 and (length := len(joined.encode())) > most:
                what = "the length of a solution"
                raise over(limits, "string_bytes", length, what).locate(row=row)
            parts.append(f"{self.between if row > 1 else ''}{before}{joined}{after}")
            size += len(parts[-1])
            if size >= CHUNK:
                yield "".join(parts).encode()
                parts.clear()
                size = 0
        parts.append(self.foot)
        yield "".join(parts).encode()


class _Cache(dict[Any, Any]):
    """Terms or texts of a format."""

    def keep(self, key: Any, value: Any, size: int) -> None:
        if size <= LONG_TERM:
            if len(self) >= _CACHE_ENTRIES:
                self.clear()
            self[key] = value


class _TermReader(_Cache):
    """Makes the terms of a factory: those of cells by their text, and others by their members."""

    def __init__(self, form: TextFormat, factory: TermFactory[Any], limits: Limits) -> None:
        super().__init__()
        self._form = form
        self._factory = factory
        self._limits = limits

    def __missing__(self, cell: str) -> Any:
        assert self._form.term is not None
        given = self._form.term(cell)
        if given["type"] == "triple":
            found = self.term(given)
        else:
            found, _ = self._made(*map(given.get, _MEMBERS))
        self.keep(cell, found, len(cell))
        return found

    def term(self, given: Any, depth: int = 0) -> Any:
        """Make a term of its object, which is in ``depth`` quoted triples."""
        if type(given) is not dict:
            raise TextError("a term is not an object")
        key = tuple(map(given.get, _MEMBERS))
        if key[0] == "triple":
            return self._quoted_triple(key[1], depth + 1)
        try:
            found = self.get(key)
        except TypeError:
            raise TextError("a member of a term is not a string") from None
        if found is None:
            if not set(map(type, key)) <= {str, type(None)}:
                raise TextError("a member of a term is not a string")
            found, size = self._made(*key)
            self.keep(key, found, size)
        return found

    def _quoted_triple(self, parts: Any, depth: int) -> Any:
        check_depth(depth, self._limits)
        if type(parts) is not dict or not parts.keys() >= set(PARTS):
            raise TextError("a quoted triple lacks a part")
        terms = [self.term(parts[name], depth) for name in PARTS]
        return build(self._factory.quoted_triple, *terms)

    def _made(
        self, kind: Any, value: Any, datatype: Any, language: Any, direction: Any
    ) -> tuple[Any, int]:
        """Make a term of its members; return it and its size."""
        if kind is None or value is None:
            raise TextError(f'a term has no "{"type" if kind is None else "value"}"')
        # An empty tag means that there is no language, as in XML.
        language = language or None
        _check(kind, value, datatype, language, direction)
        factory = self._factory
        size = len(value)
        if kind == "uri":
            return build(factory.iri, value), size
        if kind == "bnode":
            return build(factory.blank_node, read_label(value)), size
        if kind not in ("literal", "typed-literal"):
            raise TextError(f"{kind[:80]!r} is not a type of term")
        if language is not None:
            datatype = None
            language = f"{language}--{direction}" if direction else language
        size += len(datatype or language or "")
        return build(factory.literal, value, language, datatype), size


class _TermTexts(_Cache):
    """The texts of terms that can be hashed."""

    def __init__(self, form: TextFormat, describe: Describe, limits: Limits) -> None:
        super().__init__()
        self._form = form
        self._describe = describe
        self._limits = limits

    def __missing__(self, term: Any) -> str:
        text = self.made(term)
        self.keep(term, text, len(text))
        return text

    def made(self, term: Any) -> str:
        """Write a term, and the text after it."""
        return self._form.term_text(self._object(term, 0)) + self._form.closing

    def _object(self, term: Any, depth: int) -> dict[str, Any]:
        """The object of a term in ``depth`` quoted triples, at most as many as readers accept."""
        check_depth(depth, self._limits)
        kind, *parts = self._describe(term)
        if kind == Kind.TRIPLE:
            values = [self._object(part, depth + 1) for part in parts]
            if values[0]["type"] not in ("uri", "bnode") or values[1]["type"] != "uri":
                raise TermError(
                    "results cannot have a quoted triple whose subject is not an IRI or a blank "
                    "node, or whose predicate is not an IRI"
                )
            return {"type": "triple", "value": dict(zip(PARTS, values, strict=True))}
        found = {}
        if kind == Kind.IRI:
            found = {"type": "uri", "value": parts[0]}
        elif kind == Kind.BLANK_NODE:
            found = {"type": "bnode", "value": written_label(parts[0])}
        elif kind == Kind.LITERAL:
            lex, tag, datatype = parts
            found = {"type": "literal", "value": lex}
            if tag is not None:
                found["xml:lang"], mark, direction = tag.partition("--")
                if mark:
                    found["its:dir"] = direction
            elif datatype is not None:
                found["datatype"] = datatype
        else:
            raise TermError("the default graph is not a term of a solution")
        members: Any = map(found.get, _MEMBERS)
        _check(*members)
        return found


# Checks


def check_variables(variables: Sequence[str], limits: Limits) -> None:
    check_count(len(variables), limits)
    if len(set(variables)) < len(variables):
        raise TermError("two variables have the same name")
    for name in variables:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise TermError(f"{shown(name)} is not a name that a variable of SPARQL can have")


def check_count(count: int, limits: Limits) -> None:
    if count > limits.variables:
        raise over(limits, "variables", count, "the number of variables")
    if count > limits.frame_cells:
        raise over(limits, "frame_cells", count, "the number of cells of a solution")


def check_depth(depth: int, limits: Limits) -> None:
    if depth > limits.nesting:
        raise over(limits, "nesting", depth, "the depth of quoted triples")


def _check(
    kind: str, value: str, datatype: str | None, language: str | None, direction: str | None
) -> None:
    """Reject a term that strict RDF 1.2 cannot express, other than a quoted triple."""
    if kind == "uri":
        _check_iri(value)
    elif not value and kind == "bnode":
        raise TermError("a blank node has no label")
    elif _SURROGATE.search(value):
        raise TermError("a term has a surrogate, which is not a character")
    if direction is not None and (language is None or direction not in ("ltr", "rtl")):
        raise TermError(f"the base direction {direction[:80]!r} is not valid, or has no language")
    if language is None:
        if datatype is not None:
            _check_iri(datatype)
    elif _TAG.fullmatch(language) is None:
        raise TermError(f"{language[:80]!r} is not a language tag")
    elif datatype is not None and datatype not in TAGGED_DATATYPES:
        raise TermError("a literal has a language and a datatype")


def _check_iri(iri: str) -> None:
    if _IRI.fullmatch(iri) is None:
        raise TermError(f"{iri[:80]!r} is not an absolute IRI")

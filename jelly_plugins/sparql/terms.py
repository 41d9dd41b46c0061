"""What the W3C's formats of SPARQL results have in common: checked names and terms. See
:mod:`.json`, :mod:`.xml` and :mod:`.tables`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..codec import Describe, Kind, Limits, TermFactory
from ..codec.common.limits import NESTING_CEILING, over
from ..codec.common.terms import build
from ..codec.text.lines import LANGTAG, NAME_START, NOT_IN_IRI
from ..codec.text.ntriples import TAGGED_DATATYPES, read_label, written_label
from ..codec.text.transcoding import LONG_TERM
from ..errors import JellyError, LimitError, StatementError, TermError, TextError
from ..io.sources import CHUNK

#: The name of a variable: VARNAME of SPARQL.
_NAME: Final = re.compile(rf"[{NAME_START}0-9][{NAME_START}0-9\u00b7\u0300-\u036f\u203f\u2040]*+")

_IRI: Final = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*+:[^{NOT_IN_IRI}\ud800-\udfff]*+")
_TAG: Final = re.compile(LANGTAG)
_LONG_SUBTAG: Final = re.compile("[A-Za-z0-9]{9}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

#: The parts of a quoted triple.
PARTS: Final = ("subject", "predicate", "object")

#: A cache of terms that reaches this many entries is cleared.
CACHE_ENTRIES: Final = 1 << 16

#: A solution: a term for each variable, None where it is unbound.
Solution = tuple[Any, ...]

_KINDS: Final = {"uri": "uri", "bnode": "bnode", "literal": "literal", "typed-literal": "literal"}
_MEMBERS: Final = ("type", "value", "datatype", "xml:lang", "its:dir")


class Results(NamedTuple):
    """Results whose header was read, and whose solutions are read as they are iterated.

    :ivar boolean: the result of an ASK query; None if there are solutions.
    """

    variables: list[str]
    boolean: bool | None
    solutions: Iterator[Solution]


class TextFormat(NamedTuple):
    """A format of the W3C's.

    :ivar read: reads the header of chunks of a document.
    :ivar write: the chunks of a document, of the names of variables and of solutions.
    :ivar boolean: the document with the result of an ASK query; None if the format has no place for
        it.
    """

    read: Callable[[Iterator[bytes], TermFactory[Any], Limits], Results]
    write: Callable[[Sequence[str], Iterable[Sequence[Any]], Describe], Iterator[bytes]]
    boolean: Callable[[bool], bytes] | None = None


def check_iri(iri: str, name: str) -> None:
    """Check an IRI, which must be absolute.

    :param name: the format's name in errors.
    :raises TermError: strict RDF 1.2 cannot express it.
    """
    if _IRI.fullmatch(iri) is None:
        raise TermError(f"{name} cannot express the IRI {iri[:80]!r}")


def check_literal(lex: str, tag: str | None, datatype: str | None, name: str) -> None:
    """Check a literal whose datatype requires no language tag, see :func:`check_iri`."""
    if tag is not None and (_TAG.fullmatch(tag) is None or _LONG_SUBTAG.search(tag)):
        raise TermError(f"{name} cannot express the language tag {tag[:80]!r}")
    if datatype is not None:
        check_iri(datatype, name)
    if _SURROGATE.search(lex):
        raise TermError("a term has a surrogate, which is not a character")


class TermReader:
    """Makes the terms of a factory, and keeps short ones.

    :raises JellyError: from each method; the term is not valid, or the factory rejects it.
    """

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        self._factory = factory
        self._limits = limits
        self._kept = lru_cache(CACHE_ENTRIES)(self._made)

    def term(
        self,
        kind: str,
        text: str,
        datatype: str | None = None,
        language: str | None = None,
        direction: str | None = None,
    ) -> Any:
        """Make a term.

        :param kind: ``"uri"``, ``"bnode"`` or ``"literal"``.
        """
        size = len(text) + len(datatype or "") + len(language or "")
        make = self._kept if size <= LONG_TERM else self._made
        return make(kind, text, datatype, language, direction)

    def parsed(self, given: Any, depth: int = 0) -> Any:
        """Make a term of its object in SPARQL JSON.

        :param depth: number of quoted triples around it.
        """
        if not isinstance(given, dict):
            raise TextError("a term is not an object")
        kind, value, datatype, language, direction = map(given.get, _MEMBERS)
        if kind is None or value is None:
            raise TextError(f'a term has no "{"type" if kind is None else "value"}"')
        if kind == "triple" and isinstance(value, dict):
            self.check_depth(depth + 1)
            if not value.keys() >= set(PARTS):
                raise TextError("a quoted triple lacks a part")
            return self.triple([self.parsed(value[name], depth + 1) for name in PARTS])
        for each in (kind, value, datatype, language, direction):
            if each is not None and not isinstance(each, str):
                raise TextError("a member of a term is not a string")
        if kind not in _KINDS:
            raise TextError(f"{kind[:80]!r} is not a type of term")
        return self.term(_KINDS[kind], value, datatype, language, direction)

    def triple(self, parts: Sequence[Any]) -> Any:
        """Make a quoted triple of its terms."""
        return build(self._factory.quoted_triple, *parts)

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
            check_iri(text, "SPARQL")
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
            check_literal(text, None, None, "SPARQL")
            if datatype is not None:
                check_iri(datatype, "SPARQL")
            return build(self._factory.literal, text, None, datatype)
        if datatype is not None and datatype not in TAGGED_DATATYPES:
            raise TextError("a literal has a language and a datatype")
        check_literal(text, language, None, "SPARQL")
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


# Writing

#: The text of a term of these parts: the type of term in SPARQL JSON; then a value, or a value,
#: datatype, language and base direction, or the parts of three terms.
TermText = Callable[[tuple[Any, ...]], str]


def written(
    form: str,
    around: tuple[str, str],
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    *,
    describe: Describe,
    term_text: TermText,
    row_text: Callable[[list[str | None]], str],
    on_long: Callable[[int], object] | None = None,
) -> Iterator[bytes]:
    """A document in chunks; memory grows with the longest solution only.

    :param around: the text before the solutions, and after them.
    :param row_text: the text of a solution, of the texts of its terms.
    :param on_long: called with the length of each long term before it is copied.
    :raises JellyError: a term cannot be written; with the number of the solution, from 1, as its
        row.
    """
    name = f"the format {form}"
    known: dict[Any, str | None] = {None: None}
    head, foot = around
    parts = [head]
    size = len(head)
    for row, solution in enumerate(solutions, 1):
        if len(solution) != len(variables):
            raise StatementError(
                f"a solution has {len(solution)} terms for {len(variables)} variables", row=row
            )
        texts = []
        try:
            for term in solution:
                text = known.get(term)
                if text is None and term is not None:
                    text = term_text(_parts(term, describe, name, 0))
                    if len(text) <= LONG_TERM:
                        if len(known) >= CACHE_ENTRIES:
                            known = {None: None}
                        known[term] = text
                    elif on_long is not None:
                        on_long(len(text))
                texts.append(text)
        except TypeError as error:
            raise TermError(f"a cell is not a term: {error}", row=row) from None
        except JellyError as error:
            error.locate(row=row)
            raise
        parts.append(row_text(texts))
        size += len(parts[-1])
        if size >= CHUNK:
            yield "".join(parts).encode()
            parts.clear()
            size = 0
    parts.append(foot)
    yield "".join(parts).encode()


def _parts(term: Any, describe: Describe, name: str, depth: int) -> tuple[Any, ...]:
    """The parts of a term, see :data:`TermText`.

    :raises JellyError: the format cannot express it, or readers would reject its depth.
    """
    if depth > NESTING_CEILING:
        raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")
    kind, *parts = describe(term)
    if kind == Kind.IRI:
        check_iri(parts[0], name)
        return ("uri", parts[0])
    if kind == Kind.BLANK_NODE:
        return ("bnode", written_label(parts[0]))
    if kind == Kind.LITERAL:
        lex, tag, datatype = parts
        direction = None
        if tag is not None:
            tag, mark, direction = tag.partition("--")
            if mark and direction not in ("ltr", "rtl"):
                raise TermError(f"{direction[:80]!r} is not a base direction")
        check_literal(lex, tag, None if datatype in TAGGED_DATATYPES else datatype, name)
        return ("literal", lex, datatype, tag, direction)
    if kind != Kind.TRIPLE:
        raise TermError("the default graph is not a term of a solution")
    found = [_parts(part, describe, name, depth + 1) for part in parts]
    if found[0][0] not in ("uri", "bnode") or found[1][0] != "uri":
        raise TermError(
            "results cannot have a quoted triple whose subject is not an IRI or a blank node, or "
            "whose predicate is not an IRI"
        )
    return ("triple", *found)

"""Check that a stream is valid, that its terms are, and that its statements equal those of other
files.

A stream is valid if it can be read strictly to its end: every row, every frame, and no graph left
open. :mod:`.compare` compares statements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Any, Final, TypeAlias

from ..codec import (
    Frame,
    Iri,
    Literal,
    Statement,
    StreamOptions,
    Triple,
)
from ..codec.common.terms import RDF_LANG_STRING
from ..codec.text.lines import shorten
from ..errors import OrderError
from ..formats.convert import jelly_of_text, read_statements
from ..formats.settings import ConversionSettings, OptionChanges
from ..io.sources import Format, Source, name_of
from ..io.streams import FrameReader, opens_with_options
from . import ValidationSettings
from .compare import Comparison, compare_datasets, compare_streams, lower_cased

#: A file that a stream should be equal to, and its format.
Expected: TypeAlias = tuple[Source, Format]

#: Formats whose language tags are as they were written; other readers lower-case them.
_EXACT: Final = frozenset({Format.JELLY, Format.JELLY_TEXT, Format.N_TRIPLES, Format.N_QUADS})


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameValidation:
    """One frame, which was read without an error.

    :ivar statements: number of statements; None if the stream has no such frame.
    """

    index: int
    statements: int | None
    comparison: Comparison | None = None


@dataclass(slots=True, kw_only=True)
class Validation:
    """A stream, or a source in another format, that is valid.

    :ivar format: of the source. If it is not Jelly, frames, options and framing are None.
    :ivar comparison: of the whole stream, or of the first frame that differs; None if nothing was
        compared.
    :ivar bad_terms: number of problems of terms, and ``term_problems`` the first of them.
    :ivar with_options: number of frames that begin with options. If it is above 1, streams
        may have been joined, which only ``concatenated`` reads as several: the terms of those after
        the first are wrong without it.
    :ivar deviations: known deviations from the specification, which were read anyway.
    """

    source: str
    format: str = Format.JELLY
    compression: str | None = None
    delimited: bool | None = None
    options: StreamOptions | None = None
    frames: int | None = None
    with_options: int | None = None
    statements: int = 0
    comparison: Comparison | None = None
    different_frames: int = 0
    deviations: list[str] = field(default_factory=list)
    bad_terms: int = 0
    term_problems: list[str] = field(default_factory=list)


#: Problems of terms that a result lists; of more it has the number only.
LISTED: Final = 100

#: Called for each frame as soon as it was read.
OnFrame: TypeAlias = Callable[[FrameValidation], object]


_DEFAULT: Final = ValidationSettings()


def validate(
    src: Source,
    *,
    form: Format = Format.JELLY,
    against: Expected | None = None,
    settings: ValidationSettings = _DEFAULT,
    on_frame: OnFrame | None = None,
) -> Validation:
    """Read a stream or a source in another format strictly, and compare it with a file if one is
    given.

    :param against: the expected statements, with blank nodes mapped. Language tags that a parser
        has lower-cased are compared without regard to case.

    >>> from jelly_plugins import Iri, Triple
    >>> from jelly_plugins.io.streams import write_bytes
    >>> data = write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    >>> expected = b"<urn:s> <urn:p> <urn:x> .", Format.N_TRIPLES
    >>> validate(data, against=expected).comparison.reason
    'statements: 1 missing, 1 unexpected'
    """

    def compare(result: Validation, statements: Iterator[Statement]) -> Validation:
        if against is not None:
            result.comparison = _compare(settings, against, statements, exact=form in _EXACT)
        for _ in statements:
            pass  # The stream has to be valid to its end, also after a difference.
        return result

    if form not in (Format.JELLY, Format.JELLY_TEXT):
        result = Validation(source=name_of(src), format=form)
        reading = ConversionSettings(base=settings.base, limits=settings.limits)
        found = read_statements(src, form, reading)
        return compare(result, _counted(found, result, settings.terms))
    if form is Format.JELLY_TEXT:
        src = jelly_of_text(src, settings.limits)
    with _open(src, settings) as reader:
        result = Validation(source=reader.name, format=form, compression=reader.compression)
        return compare(result, _statements(_checked(reader, result, settings), on_frame))


def validate_frames(
    src: Source,
    against: Sequence[Expected],
    *,
    settings: ValidationSettings = _DEFAULT,
    on_frame: OnFrame | None = None,
) -> Validation:
    """Read a stream strictly, and compare each of its frames with the file for it.

    Blank nodes are mapped within a frame. There is a file for each frame, an empty one included.
    """
    with _open(src, settings) as reader:
        result = Validation(source=reader.name, compression=reader.compression)
        found = _checked(reader, result, settings)
        for index, (frame, expected) in enumerate(zip_longest(found, against)):
            if frame is None:
                comparison = Comparison(False, "the stream has no such frame")
            elif expected is None:
                comparison = Comparison(False, "no file for this frame")
            else:
                comparison = _compare(settings, expected, frame.statements)
            if not comparison:
                result.different_frames += 1
            if result.comparison is None or (result.comparison and not comparison):
                reason = comparison.reason and f"frame {index}: {comparison.reason}"
                result.comparison = replace(comparison, reason=reason)
            if on_frame is not None:
                statements = None if frame is None else len(frame.statements)
                on_frame(FrameValidation(index=index, statements=statements, comparison=comparison))
    return result


def _open(src: Source, settings: ValidationSettings) -> FrameReader:
    return FrameReader(
        src, limits=settings.limits, concatenated=settings.concatenated, strict=settings.strict
    )


def _compare(
    settings: ValidationSettings,
    against: Expected,
    found: Iterable[Statement],
    *,
    exact: bool = True,
) -> Comparison:
    """Compare statements with a file.

    :param exact: whether the statements have their language tags as they were written.
    """
    src, form = against
    # The official test suite has quoted triples of RDF-star.
    reading = ConversionSettings(
        changes=OptionChanges(rdf_star=True), base=settings.base, limits=settings.limits
    )
    expected: Iterable[Statement] = read_statements(src, form, reading, generalized=True)
    if not (exact and form in _EXACT):
        expected, found = map(lower_cased, expected), map(lower_cased, found)
    return (compare_streams if settings.ordered else compare_datasets)(expected, found)


def _checked(
    reader: FrameReader, result: Validation, settings: ValidationSettings
) -> Iterator[Frame]:
    """Yield frames as they are read, and fill in ``result``."""
    inside_graph = False
    checks = TermChecks() if settings.terms else None
    result.frames = result.with_options = 0
    for frame in reader:
        opens = opens_with_options(reader.data)
        if inside_graph and settings.concatenated and opens:
            raise _open_graph(reader, frame.index - 1)
        result.with_options += opens
        inside_graph = reader.inside_graph
        result.frames += 1
        result.statements += len(frame.statements)
        if checks is not None:
            _check_terms(frame, checks, result)
        yield frame
    if inside_graph:
        raise _open_graph(reader, result.frames - 1)
    result.options = reader.options
    result.delimited = bool(reader.delimited)
    result.deviations = [error.message for error in reader.deviations]


def _counted(
    statements: Iterable[Statement], result: Validation, terms: bool
) -> Iterator[Statement]:
    """Yield statements as they are read, and count them in ``result``."""
    checks = TermChecks() if terms else None
    for statement in statements:
        result.statements += 1
        if checks is not None:
            _note(checks.problems(statement), f"statement {result.statements - 1}", result)
        yield statement


def _note(problems: Iterable[str], where: str, result: Validation) -> None:
    for problem in problems:
        result.bad_terms += 1
        if len(result.term_problems) < LISTED:
            result.term_problems.append(f"{where}: {problem}")


def _check_terms(frame: Frame, checks: TermChecks, result: Validation) -> None:
    declared = [(iri,) for _, iri in frame.namespaces]
    for each in chain(declared, frame.statements):
        _note(checks.problems(each), f"frame {frame.index}", result)


def _open_graph(reader: FrameReader, frame: int) -> OrderError:
    return OrderError("the stream ends inside a graph", source=reader.name, frame=frame)


def _statements(frames: Iterable[Frame], on_frame: OnFrame | None) -> Iterator[Statement]:
    for frame in frames:
        if on_frame is not None:
            on_frame(FrameValidation(index=frame.index, statements=len(frame.statements)))
        yield from frame.statements


# Terms that Jelly can carry although they are invalid: it accepts any string as an IRI, and any as
# a language tag. Reference: RFC 3987, sections 2.2 and 3.1 (IRIs); RFC 5646, section 2.1 (language
# tags, of which the form is checked, not whether they are registered); RDF 1.1 Concepts, sections
# 3.2 and 3.3.

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:")
_ILLEGAL: Final = re.compile(
    r'[\x00-\x20\x7f-\x9f<>"{}|^`\\\ud800-\udfff\ufdd0-\ufdef\ufff0-\uffff]'
)
_BROKEN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_TAG: Final = re.compile("[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*+")

#: Terms that are remembered as checked; of more, a check starts afresh.
_REMEMBERED: Final = 1 << 16


class TermChecks:
    """Checks the terms of a stream statement by statement, each distinct one once within the limits
    of its cache."""

    def __init__(self) -> None:
        self._seen: set[Any] = set()

    def problems(self, statement: Iterable[Any]) -> Iterator[str]:
        """The problems of the terms of a statement, including those in quoted triples.

        >>> list(TermChecks().problems((Iri("urn:s"), Iri("p"), Literal("o", langtag="a_b"))))
        ['the IRI <p> is relative', "the language tag 'a_b' is not well-formed"]
        """
        for term in statement:
            if term in self._seen:
                continue
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen.add(term)
            if isinstance(term, Triple):
                yield from self.problems(term)
            elif isinstance(term, Iri):
                yield from iri_problems(term.value)
            elif isinstance(term, Literal):
                yield from _literal_problems(term)


def iri_problems(iri: str) -> Iterator[str]:
    shown = f"the IRI <{shorten(iri)}>"
    if _SCHEME.match(iri) is None:
        yield f"{shown} is relative"
    if found := _ILLEGAL.search(iri):
        yield f"{shown} has the character {found[0]!r}, which is not allowed there"
    if _BROKEN_ESCAPE.search(iri):
        yield f"{shown} has a % without two hexadecimal digits"


def _literal_problems(literal: Literal) -> Iterator[str]:
    if literal.langtag is not None and _TAG.fullmatch(literal.langtag) is None:
        yield f"the language tag {shorten(literal.langtag)!r} is not well-formed"
    if literal.datatype is not None:
        yield from iri_problems(literal.datatype)
        if literal.datatype == RDF_LANG_STRING:
            yield "a literal of type rdf:langString has no language tag"

"""Jelly-Patch to columns: the statements of operations as in ``columns``, with a byte for each that
is 1 if the statement is added; all other rows as operations, with their positions.

Terms are text. If a store normalizes terms, its factory gives their text; the compiled kernel calls
it only for terms that may have another form.

Reference: Jelly-Patch specification, section "Patch rows".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ...errors import JellyError, TermError
from ..common.limits import DEFAULT_LIMITS, Limits, over
from ..common.terms import TermFactory
from ..text.columns import (
    DEFAULT_BATCH_BYTES,
    DEFAULT_BATCH_ROWS,
    ColumnFactory,
    Columns,
    FrameTurns,
    check_batch,
    columns_of,
    longest_term,
)
from ..text.ntriples import Notation
from .decoder import PatchDecoder
from .operations import AnyOperation, Header, Namespace, Operation, OperationKind
from .options import PatchOptions

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationColumns:
    """Operations by column.

    :ivar statements: the added and deleted statements.
    :ivar adds: a byte for each statement: 1 if it is added, 0 if it is deleted.
    :ivar others: all other rows, in order, each with the number of statements before it. Their
        terms are strings, as N-Triples has them.
    """

    statements: Columns
    adds: bytes
    others: tuple[tuple[int, AnyOperation], ...] = ()


class OperationGatherer:
    """Collects operations whose terms are text, and returns them as columns.

    :param limits: ``frame_bytes`` bounds the text of a term.
    :param batch_rows: see :class:`PatchColumnDecoder`; likewise ``batch_bytes``.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        batch_rows: int = DEFAULT_BATCH_ROWS,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
    ) -> None:
        check_batch(batch_rows, batch_bytes)
        self._limits = limits
        self._longest = longest_term(limits)
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes
        self._begin()

    def _begin(self) -> None:
        self._statements: list[tuple[bytes, ...]] = []
        self._adds = bytearray()
        self._others: list[tuple[int, AnyOperation]] = []
        self._bytes = 0

    def add(self, operations: Iterable[AnyOperation]) -> Iterator[OperationColumns]:
        """Add operations, and return the full columns."""
        for row in operations:
            kind, value = row
            if kind is _ADD or kind is _DELETE:
                cells = tuple(map(self._cell, value))
                self._statements.append(cells)
                self._adds.append(kind is _ADD)
                self._bytes += sum(map(len, cells))
            else:
                self._others.append((len(self._statements), _with_text(row)))
            if (
                max(len(self._statements), len(self._others)) >= self._batch_rows
                or self._bytes >= self._batch_bytes
            ):
                yield from self.flush()

    def flush(self) -> list[OperationColumns]:
        """Return the operations collected so far as one batch, or none."""
        if not self._statements and not self._others:
            return []
        found = OperationColumns(
            statements=columns_of(self._statements),
            adds=bytes(self._adds),
            others=tuple(self._others),
        )
        self._begin()
        return [found]

    def _cell(self, term: str | bytes) -> bytes:
        cell = term if isinstance(term, bytes) else term.encode()
        if len(cell) > self._longest:
            raise over(self._limits, "frame_bytes", len(cell), "the length of a term's text")
        return cell


def _with_text(row: AnyOperation) -> AnyOperation:
    """Convert the terms of a row that is not an operation on statements to strings.

    :raises TermError: the graph of a namespace is neither an IRI nor a blank node.
    """
    kind, value = row
    if type(value) is Header:
        return Operation(kind, Header(value.key, _text(value.value)))
    if type(value) is Namespace:
        name, iri, graph = value
        graph = _text(graph)
        if graph is not None and (graph[:1] == '"' or graph[:2] == "<<"):
            raise TermError("the graph of a namespace is neither an IRI nor a blank node")
        return Operation(kind, Namespace(name, _text(iri), graph))
    return row


class ValidatingFactory(ColumnFactory):
    """Makes a validator's terms, if neither they nor the terms in N-Triples syntax are too long."""

    def __init__(self, validator: TermFactory[Any], notation: Notation, limits: Limits) -> None:
        super().__init__(notation, limits)
        self._writer = validator
        self.default_graph = validator.default_graph

    def iri(self, value: str) -> Any:
        super().iri(value)
        return self._bounded(self._writer.iri(value))

    def blank_node(self, label: str) -> Any:
        super().blank_node(label)
        return self._bounded(self._writer.blank_node(label))

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        # A validator may accept language tags that N-Triples does not allow.
        text = super().literal(lex, None, datatype)
        if langtag is not None:
            self._check(len(text) + 1 + len(langtag.encode()))
        return self._bounded(self._writer.literal(lex, langtag, datatype))

    def quoted_triple(self, *terms: Any) -> Any:
        self._check_triple([len(term.encode()) for term in terms])
        return self._bounded(self._writer.quoted_triple(*terms))

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        return self._writer.triple(terms)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        return self._writer.quad(terms)

    def _bounded(self, term: Any) -> Any:
        self._check(len(term.encode()))
        return term


def text_factory(
    notation: Notation, validator: TermFactory[Any] | None, limits: Limits
) -> ColumnFactory:
    """Return the factory of a :class:`PatchColumnDecoder`."""
    if validator is None:
        return ColumnFactory(notation, limits)
    return ValidatingFactory(validator, notation, limits)


class _Decoder(PatchDecoder):
    """Rejects rows that columns cannot hold."""

    def _read_namespace(self, *row: Any) -> AnyOperation:
        return _with_text(super()._read_namespace(*row))


def _text(term: str | bytes | None) -> str | None:
    return str(term, "utf-8") if isinstance(term, bytes) else term


class PatchColumnDecoder:
    """Reads the frames of one stream as columns.

    The decoder collects rows across frames until it has ``batch_rows`` statements or other rows, or
    ``batch_bytes`` bytes of text.

    :param notation: how quoted triples are written; with a validator, as it writes them.
    :param validator: makes the text of terms, and rejects terms and statements that its store
        cannot hold. Without one, all are accepted and written in N-Triples syntax.
    :param limits: the limits on untrusted input. ``frame_bytes`` bounds the text of a term too.
    :param strict: see :class:`~jelly_plugins.codec.PatchDecoder`.
    :raises ValueError: a bound of batches is not between 1 and 2**30.

    After an error the decoder cannot decode further frames; :meth:`flush` returns the rows of the
    previous frames.

    >>> from jelly_plugins.codec import Iri, PatchEncoder, Quad, DEFAULT_GRAPH
    >>> from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END, add
    >>> statement = Quad(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), DEFAULT_GRAPH)
    >>> encoder = PatchEncoder(PatchOptions())
    >>> frames = encoder.add([BEGIN, add(statement), COMMIT, END]) + encoder.finish()
    >>> decoder = PatchColumnDecoder()
    >>> batches = [batch for frame in frames for batch in decoder.decode(frame)] + decoder.finish()
    >>> batches[0].statements.subject.values(), batches[0].adds
    (['<urn:s>'], b'\\x01')
    >>> [(place, row.kind.code) for place, row in batches[0].others]
    [(0, 'TX'), (1, 'TC'), (1, 'Z')]
    """

    def __init__(
        self,
        notation: Notation = Notation.RDF_1_2,
        *,
        validator: TermFactory[Any] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        batch_rows: int = DEFAULT_BATCH_ROWS,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
        strict: bool = False,
    ) -> None:
        self._gathered = OperationGatherer(limits, batch_rows, batch_bytes)
        self._decoder = _Decoder(
            text_factory(notation, validator, limits), limits=limits, strict=strict
        )
        self._turns = FrameTurns()
        #: Number of the next frame, or of the frame with the error.
        self._next = 0

    @property
    def options(self) -> PatchOptions | None:
        """The stream's options; None before the first row is read."""
        return self._decoder.options

    @property
    def next_frame(self) -> int:
        """Number of the next frame."""
        return self._next

    @property
    def inside_patch(self) -> bool:
        """Whether the stream must not end here, see
        :attr:`~jelly_plugins.codec.PatchDecoder.inside_patch`.
        """
        return self._decoder.inside_patch

    @property
    def ends_loosely(self) -> bool:
        """Whether the last rows are operations outside any transaction, see
        :attr:`~jelly_plugins.codec.PatchDecoder.ends_loosely`.
        """
        return self._decoder.ends_loosely

    @property
    def deviations(self) -> list[JellyError]:
        """Accepted deviations from the specification, see
        :class:`~jelly_plugins.codec.PatchDecoder`.
        """
        return self._decoder.deviations

    def decode(self, data: bytes) -> Iterator[OperationColumns]:
        """Decode the next frame, and return an iterator over the full columns. Exhaust it before
        decoding the next frame, even if it is empty.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error.
        """
        with self._turns.turn_of(self._next):
            operations = self._decoder.decode(data).operations
            try:
                yield from self._gathered.add(operations)
            except JellyError as error:
                error.locate(frame=self._next)
                raise
        self._next += 1

    def flush(self) -> list[OperationColumns]:
        """Return the rows collected so far as one batch, or none."""
        return self._gathered.flush()

    def finish(self) -> list[OperationColumns]:
        """Mark the end of the stream.

        :return: the remaining rows; END is the last of them if the end of the stream ends a patch.
        :raises OptionsError: the stream had no options, because it had no frames at all.
        :raises TruncatedError: the stream ends inside a patch. :meth:`flush` still returns the
            remaining rows.
        """
        ended = self._decoder.finish()
        return [*self._gathered.add(ended), *self._gathered.flush()]

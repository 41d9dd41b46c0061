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

from ...errors import TermError
from ..common.limits import DEFAULT_LIMITS, Limits
from ..common.terms import Iri, Literal, TermFactory
from ..text.columns import (
    DEFAULT_BATCH_BYTES,
    DEFAULT_BATCH_ROWS,
    Batch,
    Columns,
)
from ..text.ntriples import Notation, term_text
from ..text.transcoding import TextFactory, whole
from .decoder import PatchDecoder
from .operations import AnyOperation, Header, Namespace, Operation, OperationKind

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
    """Collects operations whose terms are text, and returns them as columns."""

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        batch_rows: int = DEFAULT_BATCH_ROWS,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
    ) -> None:
        self._check_size = TextFactory(limits=limits).check_size
        self._batch = Batch(batch_rows, batch_bytes)
        self._adds = bytearray()
        self._others: list[tuple[int, AnyOperation]] = []

    def add(self, operations: Iterable[AnyOperation]) -> Iterator[OperationColumns]:
        """Add operations, and return the full columns."""
        batch = self._batch
        for row in operations:
            kind, value = row
            if kind is _ADD or kind is _DELETE:
                for term in value:
                    self._check_size(len(whole(term).encode()))
                batch.add(value)
                self._adds.append(kind is _ADD)
            else:
                self._others.append((len(batch.rows), _with_text(row)))
            if batch.is_full(max(len(batch.rows), len(self._others))):
                yield from self.flush()

    def flush(self) -> list[OperationColumns]:
        """Return the operations collected so far as one batch, or none."""
        if not self._batch.rows and not self._others:
            return []
        found = OperationColumns(
            statements=self._batch.take(), adds=bytes(self._adds), others=tuple(self._others)
        )
        self._adds.clear()
        self._others.clear()
        return [found]


def _with_text(row: AnyOperation) -> AnyOperation:
    """Convert the terms of a row that is not an operation on statements to strings."""
    kind, value = row
    if type(value) is Header:
        return Operation(kind, Header(value.key, whole(value.value)))
    if type(value) is Namespace and value.graph is not None:
        graph = whole(value.graph)
        if graph[:1] == '"' or graph[:2] == "<<":
            raise TermError("the graph of a namespace is neither an IRI nor a blank node")
    return row


class _ValidatingFactory(TextFactory):
    """Makes a validator's terms, if neither they nor the terms in N-Triples syntax are too long."""

    def __init__(self, validator: TermFactory[Any], notation: Notation, limits: Limits) -> None:
        super().__init__(notation, limits=limits)
        self._writer: Any = validator
        self.default_graph = validator.default_graph

    def iri(self, value: str) -> Any:
        return self._bounded(self._writer.iri(value))

    def blank_node(self, label: str) -> Any:
        return self._bounded(self._writer.blank_node(label))

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        # The validator decides which language tags and datatypes there are.
        size = len(term_text(Literal(lex)).encode())
        if langtag is not None:
            size += 1 + len(langtag.encode())
        if datatype is not None:
            size += 2 + len(term_text(Iri(datatype)).encode())
        self.check_size(size)
        return self._bounded(self._writer.literal(lex, langtag, datatype))

    def quoted_triple(self, *terms: Any) -> Any:
        self.check_triple(terms)
        return self._bounded(self._writer.quoted_triple(*terms))

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        return self._writer.triple(terms)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        return self._writer.quad(terms)

    def _bounded(self, term: Any) -> Any:
        self.check_size(len(whole(term).encode()))
        return term


def text_factory(
    notation: Notation, validator: TermFactory[Any] | None, limits: Limits
) -> TextFactory:
    """Return the factory of a :class:`PatchColumnDecoder`."""
    if validator is None:
        return TextFactory(notation, limits=limits)
    return _ValidatingFactory(validator, notation, limits)


class PatchColumnDecoder(PatchDecoder):
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

    >>> from jelly_plugins.codec import Iri, PatchEncoder, PatchOptions, Quad, DEFAULT_GRAPH
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
        super().__init__(text_factory(notation, validator, limits), limits=limits, strict=strict)

    def decode(self, data: bytes) -> Iterator[OperationColumns]:  # type: ignore[override]
        """Decode the next frame, and return an iterator over the full columns. Exhaust it before
        decoding the next frame, even if it is empty.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error.
        """
        operations = super().decode(data).operations
        self._unfinished = True
        yield from self._gathered.add(operations)
        self._unfinished = False

    def flush(self) -> list[OperationColumns]:
        """Return the rows collected so far as one batch, or none."""
        return self._gathered.flush()

    def finish(self) -> list[OperationColumns]:  # type: ignore[override]
        """Mark the end of the stream.

        :return: the remaining rows; END is the last of them if the end of the stream ends a patch.
        :raises OptionsError: the stream had no options, because it had no frames at all.
        :raises TruncatedError: the stream ends inside a patch. :meth:`flush` still returns the
            remaining rows.
        """
        return [*self._gathered.add(super().finish()), *self._gathered.flush()]

    def _read_namespace(self, *row: Any) -> AnyOperation:
        return _with_text(super()._read_namespace(*row))

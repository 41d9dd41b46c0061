"""Solutions to frames of a Jelly-SPARQL stream.

A variable starts in the narrowest column that holds its values, and moves to another one, by a new
header, when a value comes that the column cannot hold. All lookup entries that a frame needs must
be in the tables at once: a frame that needs too many becomes several.

Reference: sparql.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ...errors import JellyError, StatementError, TermError
from ..common.limits import Limits, over
from ..common.row_writer import DEFAULT_FRAME_BYTES
from ..common.term_reader import CACHED_STRING
from ..common.term_writer import CACHE_ENTRIES, NoRoomError, TermWriter
from ..common.terms import BlankNode, Describe, Iri, Kind, Literal, describe, text_of
from ..common.terms import describe as generic_describe
from ..common.wire import bytes_field, string_field, varint_field
from .decoder import BLANK_NODES, IRIS, LITERALS, MIXED
from .kernel import (
    Described,
    describe_all,
    iri_numbers,
    joined,
    pack,
    packed_entries,
    squeeze,
    written_terms,
)
from .options import RESULTS_LIMITS, ResultsOptions, write_options

#: Cells of a frame: rows times variables.
DEFAULT_FRAME_CELLS: Final = 4096

#: The type of column for terms of one kind, by its bit.
_TYPES: Final = {
    1 << Kind.IRI: IRIS,
    1 << Kind.BLANK_NODE: BLANK_NODES,
    1 << Kind.LITERAL: LITERALS,
}
_LOOKUPS: Final = {"name": 4, "prefix": 5, "datatype": 6}


def _numbers(number: int, values: list[int]) -> bytes:
    """A packed field; nothing for no values."""
    if not values:
        return b""
    return bytes_field(number, pack(values))


class _ColumnWriter(TermWriter):
    """Writes columns; what they need in the lookups waits in :attr:`entries`."""

    def __init__(self, options: ResultsOptions, describe: Describe, limits: Limits) -> None:
        super().__init__(options, describe, limits, self._refuse_entry)
        #: Entries for the next frame: the id as written, and the value, by lookup.
        self.entries: dict[str, list[tuple[int, str]]] = {name: [] for name in _LOOKUPS}
        #: What was made of IRIs of the generic model, by their value.
        self.known_iris: dict[str, Described] = {}
        #: Whether terms are of the generic model. Apart from its IRIs, which share their names and
        #: prefixes, describing one takes less time than finding it.
        self.generic = describe is generic_describe

    @staticmethod
    def _refuse_entry(_table: str, _body: bytes) -> None:
        raise AssertionError("entries are packed")

    def _write_entry(self, table: str, written: int, value: str) -> None:
        self.entries[table].append((written, value))

    def take_entries(self) -> bytes:
        """The packed entries that wait, as fields of a frame."""
        taken = b"".join(
            packed_entries(number, self.entries[name]) for name, number in _LOOKUPS.items()
        )
        self.entries = {name: [] for name in _LOOKUPS}
        return taken

    def _encoded(self, parts: tuple[Any, ...]) -> Any:
        """What there is to write of a term."""
        kind = Kind(parts[0])
        if kind is Kind.IRI:
            raw = self.text(parts[1], "an IRI")
            prefix, name = self._cut(text_of(parts[1]))
            return Described(int(kind), len(raw), None, None, None, prefix, name)
        if kind is Kind.BLANK_NODE:
            raw = self.text(parts[1], "a blank node label")
            return Described(int(kind), len(raw), raw)
        if kind is not Kind.LITERAL:
            raise TermError("Jelly-SPARQL has no quoted triples and no default graph")
        _, lex, langtag, datatype = parts
        raw = self.text(lex, "a lexical form")
        if langtag is not None:
            if datatype is not None:
                raise TermError("a literal has either a language tag or a datatype, not both")
            if not langtag:
                raise TermError("a language tag is empty")
            tag = self.text(langtag, "a language tag")
            return Described(int(kind), len(raw) + len(tag), raw, tag)
        if datatype is not None:
            self.text(datatype, "a datatype")
        return Described(int(kind), len(raw), raw, None, text_of(datatype))

    def describe_term(self, term: Any) -> Any:
        """What :meth:`_encoded` makes of a term; remembered where that is of use.

        :raises TermError: it is not a term, or cannot be written.
        """
        known: dict[Any, Any] = self._described
        key = term
        if self.generic and type(term) in (Iri, BlankNode, Literal):
            if type(term) is not Iri:
                return self._describe(term)
            known, key = self.known_iris, term.value
        try:
            found: Any = known.get(key)
        except (TypeError, AttributeError) as error:
            self._refuse(term, error)
        if found is None:
            found = self._describe(term)
            if found.size <= CACHED_STRING:
                if len(known) >= CACHE_ENTRIES:
                    known.clear()
                known[key] = found
        return found

    def find_ids(self, value: Any) -> None:
        """Have an IRI's ids be those of this frame, and its entries used by it."""
        if value.frame != self._row_number:
            value.prefix_id, value.name_id = self._iri_ids(value.prefix, value.name)
            value.frame = self._row_number

    def datatype_id(self, datatype: str) -> int:
        """The id of a datatype, used by this frame."""
        return self._datatype(datatype)

    def begin(self) -> None:
        """Start a frame: entries that are used from here on stay until its end."""
        self._row_number += 1

    def columns(self, columns: Sequence[tuple[int, list[Any], list[int]]]) -> bytes:
        """Write the columns of a frame.

        :param columns: the type, described run values and layout of each, in order of the types.
        :raises NoRoomError: they need more entries than a lookup has.
        """
        return b"".join(
            bytes_field(number, self._column(number, values, layouts))
            for number, values, layouts in columns
        )

    def one_row(self, columns: Sequence[tuple[int, list[Any], list[int]]]) -> bytes:
        """Write the columns of a frame of one row, which cannot be made smaller.

        :raises TermError: they need more entries than a lookup has.
        """
        return self._row(self.columns, columns)

    def _column(self, number: int, values: list[Any], layouts: list[int]) -> bytes:
        layout = _numbers(2, layouts)
        if number == IRIS:
            names, prefixes = iri_numbers(self, values)
            if not any(prefixes[1:]):
                # One for all, or none at all.
                prefixes = [prefix for prefix in prefixes[:1] if prefix]
            return _numbers(1, names) + layout + _numbers(3, prefixes)
        if number == BLANK_NODES:
            return joined(1, values) + layout
        if number == LITERALS and not any(value.tag for value in values):
            datatypes = {value.datatype for value in values}
            if len(datatypes) == 1:
                datatype = datatypes.pop()
                written = 0 if datatype is None else self._datatype(datatype)
                return layout + joined(3, values) + varint_field(4, written)
        return written_terms(self, values, number == MIXED) + layout


class _Squeezed(NamedTuple):
    """A column: its run values, described, its layout, its length in bytes, its kinds of terms."""

    values: list[Any]
    layouts: list[int]
    size: int
    kinds: int


class ResultsEncoder:
    """Writes solutions as a Jelly-SPARQL stream; for one thread at a time.

    :param variables: their names, in order.
    :param options: of the stream.
    :param describe: takes the caller's terms apart, see ``codec.Describe``.
    :param frame_cells: cells (rows times variables) after which a frame ends.
    :param frame_bytes: bytes of terms after which a frame ends.
    :param limits: bounds of what is written; a reader's by default.
    :raises JellyError: the variables or options cannot be written.

    After an error no frame can be written any more.

    >>> from jelly_plugins.codec import GenericFactory, Iri
    >>> encoder = ResultsEncoder(["s"])
    >>> frames = encoder.add([(Iri("urn:a"),), (None,)]) + encoder.finish()
    >>> from .decoder import ResultsDecoder
    >>> [ResultsDecoder(GenericFactory()).decode(frame).solutions() for frame in frames]
    [[(Iri(value='urn:a'),), (None,)]]
    """

    def __init__(
        self,
        variables: Sequence[str],
        *,
        options: ResultsOptions | None = None,
        describe: Describe = describe,
        frame_cells: int = DEFAULT_FRAME_CELLS,
        frame_bytes: int = DEFAULT_FRAME_BYTES,
        limits: Limits = RESULTS_LIMITS,
    ) -> None:
        if frame_cells < 1 or frame_bytes < 1:
            raise ValueError("frame_cells and frame_bytes must be at least 1")
        options = options or ResultsOptions()
        options.check(limits)
        if len(set(variables)) < len(variables):
            raise TermError("two variables have the same name")
        self._writer = _ColumnWriter(options, describe, limits)
        for name in variables:
            if not self._writer.text(name, "a variable's name"):
                raise TermError("a variable has no name")
        self._variables = tuple(variables)
        self._limits = limits
        self._frame_bytes = min(frame_bytes, limits.frame_bytes // 2)
        rows = max(1, frame_cells // max(1, len(variables)))
        self._frame_rows = max(1, min(rows, limits.frame_rows))
        self._options: bytes | None = bytes_field(1, write_options(options))
        #: The type of each variable's column; None for one that had no value yet.
        self._types: list[int | None] = [None] * len(variables)
        self._header: bytes | None = None
        self._rows: list[Sequence[Any]] = []
        self._count = 0

    def add(self, solutions: Iterable[Sequence[Any]]) -> list[bytes]:
        """Take solutions: a term for each variable, None where it is unbound.

        :return: the frames that are complete, without delimiters.
        :raises JellyError: a term cannot be written.
        """
        rows = self._rows
        rows += solutions
        frames: list[bytes] = []
        if len(rows) >= self._frame_rows:
            whole = len(rows) - len(rows) % self._frame_rows
            self._rows = rows[whole:]
            for start in range(0, whole, self._frame_rows):
                frames += self._frames(rows[start : start + self._frame_rows])
        return frames

    def finish(self) -> list[bytes]:
        """End the stream; return the frames that are left, at least one if there was none."""
        rows, self._rows = self._rows, []
        return self._frames(rows) if rows or self._options is not None else []

    def _frames(self, rows: list[Sequence[Any]]) -> list[bytes]:
        try:
            columns = self._columns(rows)
            return self._written(columns, len(rows))
        except JellyError as error:
            error.locate(frame=self._count)
            raise

    def _columns(self, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
        width = len(self._variables)
        for size in set(map(len, rows)) - {width}:
            raise StatementError(f"a solution has {size} terms for {width} variables")
        return list(zip(*rows, strict=True)) if rows else [()] * width

    def _written(self, columns: list[Sequence[Any]], rows: int) -> list[bytes]:
        """The frames of some rows: one, or two halves if it would be too large."""
        writer = self._writer
        squeezed = [self._squeezed(column) for column in columns]
        if sum(column.size for column in squeezed) <= self._frame_bytes or rows < 2:
            writer.begin()
            types, order = self._settle([column.kinds for column in squeezed])
            ordered = [
                (types[place] or IRIS, squeezed[place].values, squeezed[place].layouts)
                for place in order
            ]
            try:
                body = writer.one_row(ordered) if rows < 2 else writer.columns(ordered)
                return [self._frame(types, order, rows, body)]
            except NoRoomError:
                pass
        half = rows // 2
        return self._written([column[:half] for column in columns], half) + self._written(
            [column[half:] for column in columns], rows - half
        )

    def _squeezed(self, cells: Sequence[Any]) -> _Squeezed:
        try:
            values, layouts = squeeze(cells)
        except AttributeError as error:
            raise TermError(f"a cell is not a term: {error}") from None
        described, size, kinds = describe_all(self._writer, values)
        return _Squeezed(described, layouts, size, kinds)

    def _settle(self, columns: list[int]) -> tuple[list[int | None], list[int]]:
        """The types of the columns that hold values of these kinds, and the variables by column."""
        types = list(self._types)
        for place, kinds in enumerate(columns):
            if kinds:
                needed = _TYPES.get(kinds, MIXED)
                types[place] = needed if types[place] in (None, needed) else MIXED
        order = sorted(range(len(types)), key=lambda place: types[place] or IRIS)
        return types, order

    def _frame(self, types: list[int | None], order: list[int], rows: int, body: bytes) -> bytes:
        parts = []
        if self._options is not None:
            parts.append(self._options)
        indices = {place: index for index, place in enumerate(order)}
        header = b"".join(
            bytes_field(2, string_field(1, name) + varint_field(2, indices[place]))
            for place, name in enumerate(self._variables)
        )
        # The numbers of columns change with the types, even where the indices do not.
        if self._header is None or [each or IRIS for each in types] != [
            each or IRIS for each in self._types
        ]:
            parts.append(header)
        parts += (varint_field(3, rows), self._writer.take_entries(), body)
        frame = b"".join(parts)
        if len(frame) > self._limits.frame_bytes:
            raise over(self._limits, "frame_bytes", len(frame), "the length of a frame")
        self._options = None
        self._header = header
        self._types = types
        self._count += 1
        return frame


def encode_boolean(value: bool, *, options: ResultsOptions | None = None) -> bytes:
    """The one frame of the result of an ASK query.

    >>> encode_boolean(True).hex()[-8:]
    '5a020801'
    """
    options = options or ResultsOptions()
    options.check(RESULTS_LIMITS)
    return bytes_field(1, write_options(options)) + bytes_field(11, varint_field(1, int(value)))


__all__ = ["DEFAULT_FRAME_CELLS", "ResultsEncoder", "encode_boolean"]

"""Solutions to frames of a Jelly-SPARQL stream.

A variable starts in the narrowest column that holds its values, and moves to another one, by a new
header, when a value comes that the column cannot hold. All lookup entries that a frame needs must
be in the tables at once: a frame that needs too many becomes several.

Reference: sparql.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...errors import JellyError, StatementError, TermError
from ..common.limits import Limits, over
from ..common.row_writer import DEFAULT_FRAME_BYTES
from ..common.term_writer import NoRoomError, TermWriter
from ..common.terms import Describe, Kind, describe
from ..common.wire import bytes_field, string_field, varint, varint_field
from .decoder import BLANK_NODES, IRIS, LITERALS, MIXED
from .kernel import described, joined, pack, squeeze
from .options import RESULTS_LIMITS, ResultsOptions, write_options

#: Cells of a frame: rows times variables.
DEFAULT_FRAME_CELLS: Final = 4096

#: The type of column for each kind of term, and the field that a mixed column has for it.
_TYPES: Final = {Kind.IRI: IRIS, Kind.BLANK_NODE: BLANK_NODES, Kind.LITERAL: LITERALS}
_MIXED_FIELDS: Final = {Kind.IRI: 1, Kind.BLANK_NODE: 2, Kind.LITERAL: 3}
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
        self.known_iris: dict[str, tuple[Any, ...]] = {}
        #: Ids of the IRIs of this frame, by the identity of their descriptions.
        self._ids_by_description: dict[int, tuple[int, int]] = {}

    @staticmethod
    def _refuse_entry(_table: str, _body: bytes) -> None:
        raise AssertionError("entries are packed")

    def _write_entry(self, table: str, written: int, value: str) -> None:
        self.entries[table].append((written, value))

    def take_entries(self) -> bytes:
        """The packed entries that wait, as fields of a frame."""
        fields = []
        for name, number in _LOOKUPS.items():
            body = bytearray()
            for written, value in self.entries[name]:
                if written and body:
                    fields.append(bytes_field(number, body))
                    body = bytearray()
                body += varint_field(1, written) + bytes_field(2, value.encode())
            if body:
                fields.append(bytes_field(number, body))
            self.entries[name] = []
        return b"".join(fields)

    def _encoded(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """What there is to write of a term: its kind, its length in bytes, and

        - for an IRI, its prefix and name;
        - for a blank node, its label in UTF-8, and None;
        - for a literal, its lexical form in UTF-8, and its language tag (bytes), its datatype (a
          string) or None.
        """
        kind = Kind(parts[0])
        if kind is Kind.IRI:
            raw = self.text(parts[1], "an IRI")
            return (kind, len(raw), *self._cut(parts[1]))
        if kind is Kind.BLANK_NODE:
            raw = self.text(parts[1], "a blank node label")
            return (kind, len(raw), raw, None)
        if kind is not Kind.LITERAL:
            raise TermError("Jelly-SPARQL has no quoted triples and no default graph")
        _, lex, langtag, datatype = parts
        raw = self.text(lex, "a lexical form")
        size = len(raw)
        if langtag is not None:
            if datatype is not None:
                raise TermError("a literal has either a language tag or a datatype, not both")
            if not langtag:
                raise TermError("a language tag is empty")
            tag = self.text(langtag, "a language tag")
            return (kind, size + len(tag), raw, tag)
        if datatype is not None:
            self.text(datatype, "a datatype")
        return (kind, size, raw, datatype)

    def described(self, terms: list[Any]) -> list[tuple[Any, ...]]:
        """What :meth:`_encoded` makes of each term."""
        return described(self, terms)

    def describe_term(self, term: Any) -> tuple[Any, ...]:
        """What :meth:`_encoded` makes of a term, remembered.

        :raises TermError: it is not a term, or cannot be written.
        """
        try:
            return self._described.get(term) or self._remember(term)
        except (TypeError, AttributeError) as error:
            self._refuse(term, error)

    def begin(self) -> None:
        """Start a frame: entries that are used from here on stay until its end."""
        self._row_number += 1

    def columns(self, columns: Sequence[tuple[int, list[Any], list[int]]]) -> bytes:
        """Write the columns of a frame.

        :param columns: the type, described run values and layout of each, in order of the types.
        :raises NoRoomError: they need more entries than a lookup has.
        """
        self._ids_by_description.clear()
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
        if number == IRIS:
            return self._iri_column(values, layouts)
        if number == BLANK_NODES:
            body = joined(1, values)
        elif number == MIXED:
            self.ids = (0, 0)
            body = b"".join(bytes_field(1, self._mixed(value)) for value in values)
        else:
            datatypes = {value[3] for value in values}
            datatype = datatypes.pop() if len(datatypes) == 1 else b""
            if isinstance(datatype, bytes):
                body = b"".join(bytes_field(1, self._literal(value)) for value in values)
            else:
                written = 0 if datatype is None else self._datatype(datatype)
                return _numbers(2, layouts) + joined(3, values) + varint_field(4, written)
        return body + _numbers(2, layouts)

    def _iri_column(self, values: list[Any], layouts: list[int]) -> bytes:
        names = []
        prefixes = []
        # Descriptions are kept, so that an IRI has one.
        known = self._ids_by_description
        last_prefix = last_name = 0
        for value in values:
            ids = known.get(id(value))
            if ids is None:
                ids = known[id(value)] = self._iri_ids(value[2], value[3])
            prefix_id, name_id = ids
            names.append(0 if name_id == last_name + 1 else name_id)
            prefixes.append(0 if prefix_id == last_prefix else prefix_id)
            last_prefix, last_name = ids
        if not any(prefixes[1:]):
            # One for all, or none at all.
            prefixes = [prefix for prefix in prefixes[:1] if prefix]
        return _numbers(1, names) + _numbers(2, layouts) + _numbers(3, prefixes)

    def _literal(self, value: tuple[Any, ...]) -> bytes:
        _, _, lex, other = value
        body = bytes_field(1, lex) if lex else b""
        if isinstance(other, bytes):
            return body + bytes_field(2, other)
        return body if other is None else body + varint_field(3, self._datatype(other))

    def _mixed(self, value: tuple[Any, ...]) -> bytes:
        """The body of a SparqlTerm."""
        kind, _, first, second = value
        field = varint(_MIXED_FIELDS[kind] << 3 | 2)
        if kind is Kind.IRI:
            return field + self._iri(first, second)
        body = first if kind is Kind.BLANK_NODE else self._literal(value)
        return field + varint(len(body)) + body


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
        for row in rows:
            if len(row) != width:
                raise StatementError(f"a solution has {len(row)} terms for {width} variables")
        return list(zip(*rows, strict=True)) if rows else [()] * width

    def _written(self, columns: list[Sequence[Any]], rows: int) -> list[bytes]:
        """The frames of some rows: one, or two halves if it would be too large."""
        writer = self._writer
        squeezed = [self._squeezed(column) for column in columns]
        size = sum(each[1] for values, _ in squeezed for each in values)
        if size <= self._frame_bytes or rows < 2:
            writer.begin()
            types, order = self._settle([values for values, _ in squeezed])
            ordered = [(types[place] or IRIS, *squeezed[place]) for place in order]
            try:
                body = writer.one_row(ordered) if rows < 2 else writer.columns(ordered)
                return [self._frame(types, order, rows, body)]
            except NoRoomError:
                pass
        half = rows // 2
        return self._written([column[:half] for column in columns], half) + self._written(
            [column[half:] for column in columns], rows - half
        )

    def _squeezed(self, cells: Sequence[Any]) -> tuple[list[tuple[Any, ...]], list[int]]:
        """A column's run values, described, and its layout."""
        try:
            values, layouts = squeeze(cells)
        except AttributeError as error:
            raise TermError(f"a cell is not a term: {error}") from None
        return self._writer.described(values), layouts

    def _settle(self, columns: list[list[tuple[Any, ...]]]) -> tuple[list[int | None], list[int]]:
        """The types of the columns that hold these values, and the variables by column."""
        types = list(self._types)
        for place, values in enumerate(columns):
            for kind in {value[0] for value in values}:
                needed = _TYPES[kind]
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

"""The terms of query results: packed lookup entries, and the run values of columns.

Reference: sparql.proto, "Columns"; rdf2.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, Final, TypeAlias

from ...errors import LimitError, StatementError, WireError
from ..common.limits import over
from ..common.term_reader import TermReader
from ..common.wire import BYTES, VARINT, read_field, read_fields, read_varint, uint32, wrong_type
from .kernel import enter_packed, find_fields

#: Start and end of a field's payload, and its value if it is a number.
Field: TypeAlias = tuple[int, int, int]

_PACKED_FIELDS: Final = {1: VARINT, 2: BYTES}
#: Bytes that end a varint.
_LAST_BYTES: Final = bytes(range(0x80))
_TERM_FIELDS: Final = {1: BYTES, 2: BYTES, 3: BYTES}


def gather(
    data: bytes,
    pos: int,
    end: int,
    known: dict[int, int],
    repeated: frozenset[int],
    message: str,
    most: int,
    numbers: frozenset[int] = frozenset(),
) -> dict[int, list[Field]]:
    """Read the fields of a message by number, and skip unknown ones.

    :param known: wire type by field number.
    :param repeated: numbers of the fields that may occur more than once.
    :param most: number of known fields that the message may have.
    :param numbers: numbers of the fields that are repeated numbers, packed or not.
    :raises WireError: malformed, a known field of the wrong type, or one that occurs twice.
    :raises LimitError: there are more fields.
    """
    fields = find_fields(data, pos, end, known, repeated, most)
    if fields is not None:
        return fields
    found: dict[int, list[Field]] = {}
    count = 0
    while pos < end:
        tag, start, pos, value = read_field(data, pos, end)
        number = tag >> 3
        wire_type = known.get(number)
        if wire_type is None:
            continue
        if wire_type != tag & 7 and (number not in numbers or tag & 7 != VARINT):
            raise wrong_type(number, message)
        field = (start, pos, value)
        count += 1
        if count > most:
            raise LimitError(f"{message} has more than {most} fields")
        if number not in found:
            found[number] = [field]
        elif number in repeated:
            found[number].append(field)
        else:
            raise WireError(f"field {number} of {message} occurs twice")
    return found


def read_numbers(data: bytes, fields: list[Field], what: str, most: int) -> list[int]:
    """Read the numbers of a repeated field, packed or not.

    :raises WireError: a number is malformed or has more than 32 bits.
    :raises LimitError: there are more than ``most``.
    """
    found: list[int] = []
    for pos, end, _ in fields:
        packed = data[pos:end]
        if len(found) + len(packed) - len(packed.translate(None, _LAST_BYTES)) > most:
            raise LimitError(f"{what}: there are more than {most}")
        if packed.isascii():
            # Each number has one byte.
            found += packed
            continue
        while pos < end:
            value, pos = read_varint(data, pos, end)
            found.append(uint32(value, what))
    return found


class ResultsTermReader(TermReader):
    """Reads the columns of a frame."""

    def set_packed(
        self, enter: Callable[[int, str], None], data: bytes, places: list[Field]
    ) -> None:
        """Read packed entries of a lookup.

        :param enter: sets an entry.
        """
        done = 0
        if enter != self.enter_datatype:
            done = enter_packed(self, enter == self.enter_prefix, data, places)
        for pos, end, _ in places[done:]:
            message = "packed lookup entries"
            most = self._limits.frame_rows
            fields = gather(data, pos, end, _PACKED_FIELDS, frozenset({2}), message, most)
            entry_id = uint32(fields[1][0][2], "a lookup entry's id") if 1 in fields else 0
            for start, stop, _ in fields.get(2, ()):
                enter(entry_id, self.string(data, start, stop, "a lookup entry"))
                entry_id = 0

    def begin_column(self) -> None:
        """Reset the ids that zeros refer to."""
        self._prefix_id = self._name_id = 0

    def iris(self, name_ids: list[int], prefix_ids: list[int]) -> list[Any]:
        """Return the run values of an IRI column."""
        prefixes = prefix_ids or [0]
        given: Iterator[int] = iter(prefixes)
        if len(prefixes) != len(name_ids):
            if len(prefixes) > 1:
                raise WireError(
                    f"the column has {len(name_ids)} names and {len(prefixes)} prefixes"
                )
            given = repeat(prefixes[0])
        terms = []
        prefix_id = name_id = 0
        for prefix, name in zip(given, name_ids, strict=False):
            prefix_id = prefix or prefix_id
            name_id = name or name_id + 1
            terms.append(self._found_iri(prefix_id, name_id))
        return terms

    def same_literals(self, data: bytes, lexes: list[Field], datatype_id: int) -> list[Any]:
        """Return literals with the same datatype; id 0 is xsd:string."""
        datatype = self.datatypes.get(datatype_id) if datatype_id else None
        made: dict[bytes, tuple[Any, int]] = {}
        terms = []
        for start, stop, _ in lexes:
            raw = data[start:stop]
            found = made.get(raw)
            if found is None:
                lex = self.string(data, start, stop, "a lexical form")
                found = made[raw] = self._build_literal(lex, None, datatype)
            elif found[1]:
                self._expand(found[1])
            terms.append(found[0])
        return terms

    def term(self, data: bytes, pos: int, end: int) -> Any:
        """Read a SparqlTerm.

        :raises StatementError: the message has no term.
        """
        fields = list(read_fields(data, pos, end, _TERM_FIELDS, "SparqlTerm"))
        if len(fields) != 1:
            if fields:
                raise WireError("a cell has two terms")
            raise StatementError("a cell has no term")
        number, start, stop, _ = fields[0]
        if number == 1:
            return self.iri(data, start, stop)
        if number == 2:
            return self.blank_node(data, start, stop)
        return self.literal(data, start, stop)

    def check_copies(self, cells: int) -> None:
        """Reject a frame with too many cells.

        :raises LimitError: the frame has too many cells.
        """
        if cells > self._limits.frame_cells:
            raise over(self._limits, "frame_cells", cells, "the number of cells of a frame")

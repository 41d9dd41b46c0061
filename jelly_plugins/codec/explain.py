"""Explain why the compiled kernel rejects a row: the reference reads it again and raises the error.

The kernel only detects that a row is invalid. Errors and their messages are defined once, in the
reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import JellyError, WireError
from .common.limits import Limits
from .common.lookups import ReaderTable
from .common.row_reader import RowReader
from .common.term_reader import TermReader
from .common.terms import TermFactory
from .patch.decoder import PatchDecoder, PatchFrame
from .patch.options import PatchOptions
from .patch.rules import PatchState
from .rdf.decoder import Decoder, Frame
from .rdf.options import StreamOptions
from .rdf.rules import State

#: More than any row can expand to: the kernel itself counts the expansion.
_NO_LIMIT: Final = 1 << 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A decoder's state before a row.

    :ivar names: the name lookup, by id; likewise ``prefixes`` and ``datatypes``.
    :ivar next_ids: the ids that an entry id of 0 denotes: name, prefix, datatype.
    :ivar given: a bit for each position that some statement has set.
    """

    state: int
    names: dict[int, str]
    prefixes: dict[int, str]
    datatypes: dict[int, str]
    next_ids: tuple[int, int, int]
    prefix_id: int
    name_id: int
    given: int


def reason(
    row: bytes,
    factory: TermFactory[Any],
    options: StreamOptions | None,
    limits: Limits,
    before: Before,
) -> JellyError:
    """Return the error that the reference raises for a row.

    :param row: the row, with the subsequent bytes if its end is not known.
    :param options: the stream's options; None if they were not read yet.
    :param before: the state before the row.
    """
    limits = replace(limits, frame_expansion=_NO_LIMIT)
    decoder = Decoder(factory, limits=limits)
    return _error(decoder, options, before, State(before.state), row, Frame(0))


def patch_reason(
    row: bytes,
    factory: TermFactory[Any],
    options: PatchOptions | None,
    limits: Limits,
    before: Before,
) -> JellyError:
    """Return the error that the reference raises for a row of a patch; see :func:`reason`."""
    limits = replace(limits, frame_expansion=_NO_LIMIT)
    decoder = PatchDecoder(factory, limits=limits)
    return _error(decoder, options, before, PatchState(before.state), row, PatchFrame(0))


def _error(
    decoder: RowReader[Any, Any], options: Any, before: Before, state: Any, row: bytes, frame: Any
) -> JellyError:
    if options is not None:
        decoder._begin_stream(options)
        _restore(decoder._terms, before)
    decoder._state = state
    try:
        decoder._decode_rows(row, frame, [])
    except JellyError as error:
        return error
    return WireError("the row is not valid (the kernels do not agree on it: please report this)")


def _restore(terms: TermReader, before: Before) -> None:
    for entries, next_id, table, keys in (
        (before.names, before.next_ids[0], terms.names, terms._name_keys),
        (before.prefixes, before.next_ids[1], terms.prefixes, terms._prefix_keys),
        (before.datatypes, before.next_ids[2], terms.datatypes, []),
    ):
        _fill(table, entries, next_id)
        # Use a key under which no IRI is cached.
        keys[:] = [-1] * len(table.values)
    terms._prefix_keys[0] = 0
    terms._prefix_id = before.prefix_id
    terms._name_id = before.name_id
    terms._missing &= ~before.given


def _fill(table: ReaderTable, entries: dict[int, str], next_id: int) -> None:
    for entry_id, value in entries.items():
        table.assign(entry_id, value)
    table._last = next_id - 1

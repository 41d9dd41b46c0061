"""Columns as runs: the values of a column, and the runs in which values are not used exactly once.

Reference: sparql.proto, "Columns".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...errors import WireError
from ..common.wire import varint

#: Types of columns: their fields in a frame, in the order in which a header numbers them.
IRIS: Final = 7
BLANK_NODES: Final = 8
LITERALS: Final = 9
MIXED: Final = 10
COLUMNS: Final = (IRIS, BLANK_NODES, LITERALS, MIXED)

#: Parts of a token: number of values used once before it, kind of run, and its length.
_SKIP_SHIFT: Final = 5
_UNBOUND: Final = 1 << 4
_LENGTH: Final = 15

#: Minimum length of a run of each kind.
_LEAST_REPEATS: Final = 2
_LEAST_UNBOUND: Final = 1


def expand(values: list[Any], layouts: list[int], rows: int) -> list[Any]:
    """Return the cells of a column; None is an unbound cell.

    :param values: the column's run values.
    :param rows: number of cells.
    :raises WireError: the layout does not match the values and rows.

    >>> expand(["a", "b"], [0b100000, 0b10001], 6)
    ['a', 'b', 'b', None, None, None]
    """
    size = len(values)
    if not layouts:
        return _padded(list(values), rows)
    cells: list[Any] = []
    at = 0
    tokens = iter(layouts)
    for token in tokens:
        length = token & _LENGTH
        if length == _LENGTH:
            extension = next(tokens, None)
            if extension is None:
                raise WireError("the layout ends inside a run's length")
            length += extension
        skip = token >> _SKIP_SHIFT
        if skip > size - at:
            raise WireError(f"the layout skips {skip} values, but {size - at} are left")
        unbound = token & _UNBOUND
        if not unbound and at + skip == size:
            raise WireError("the layout repeats a value after the last one")
        length += _LEAST_UNBOUND if unbound else _LEAST_REPEATS
        if len(cells) + skip + length > rows:
            raise too_many(rows)
        if skip:
            cells += values[at : at + skip]
            at += skip
        if unbound:
            cells += [None] * length
        else:
            cells += [values[at]] * length
            at += 1
    cells += values[at:]
    return _padded(cells, rows)


def _padded(cells: list[Any], rows: int) -> list[Any]:
    missing = rows - len(cells)
    if missing < 0:
        raise too_many(rows)
    if missing:
        cells += [None] * missing
    return cells


def too_many(rows: int) -> WireError:
    """The error for a column with more cells than its frame has rows."""
    return WireError(f"the column has more cells than the frame has rows ({rows})")


def squeeze(cells: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the run values and the layout of a column's cells; None is an unbound cell.

    :raises AttributeError: a cell cannot be compared with others.

    >>> squeeze(["a", "b", "b", None, None, None])
    (['a', 'b'], [32])
    """
    values: list[Any] = []
    layouts: list[int] = []
    skip = run = 0
    last: Any = None
    for cell in cells:
        if cell is last or (cell is not None and last is not None and cell == last):
            run += 1
            continue
        if run:
            if last is None:
                put_run(layouts, skip, _UNBOUND, run - _LEAST_UNBOUND)
                skip = 0
            elif run == 1:
                skip += 1
            else:
                put_run(layouts, skip, 0, run - _LEAST_REPEATS)
                skip = 0
        if cell is not None:
            values.append(cell)
        last = cell
        run = 1
    if last is not None and run >= _LEAST_REPEATS:
        put_run(layouts, skip, 0, run - _LEAST_REPEATS)
    return values, layouts


def put_run(layouts: list[int], skip: int, kind: int, length: int) -> None:
    """Append a run's token, with an extension if its length needs one."""
    if length < _LENGTH:
        layouts.append(skip << _SKIP_SHIFT | kind | length)
    else:
        layouts.append(skip << _SKIP_SHIFT | kind | _LENGTH)
        layouts.append(length - _LENGTH)


def pack(numbers: list[int]) -> bytes:
    """Encode numbers as the payload of a packed field."""
    return bytes(numbers) if max(numbers) < 0x80 else b"".join(map(varint, numbers))

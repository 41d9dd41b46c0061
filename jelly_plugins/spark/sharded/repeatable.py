"""Rows that come once, and are to be read more than once: where a batch begins again."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO, Any, Final

from ...codec.patch.operations import Operation

#: Rows that are held in memory; those before them are in a file without a name.
_HELD: Final = 10_000


class Repeatable:
    """Rows that can be iterated over again, from the first one, also when that was broken off.

    One iteration at a time.

    :param rows: are read when they are asked for, each once.

    >>> rows = Repeatable(map(str, range(3)))
    >>> next(iter(rows)), list(rows), list(rows)
    ('0', ['0', '1', '2'], ['0', '1', '2'])
    """

    def __init__(self, rows: Iterable[Operation]) -> None:
        self._rest = iter(rows)
        self._held: list[Operation] = []
        self._file: IO[Any] | None = None
        self._chunks = 0

    def __iter__(self) -> Iterator[Operation]:
        if self._file is not None:
            self._file.seek(0)
            for _ in range(self._chunks):
                yield from pickle.load(self._file)
        yield from tuple(self._held)
        for row in self._rest:
            if len(self._held) == _HELD:
                self._write()
            self._held.append(row)
            yield row

    def _write(self) -> None:
        self._file = self._file or TemporaryFile()  # noqa: SIM115 (closed with the object)
        pickle.dump(self._held, self._file)
        self._chunks += 1
        self._held = []

"""A guard against entities of XML that stand for far more text than they take.

pyoxigraph puts the text of an entity wherever it is referred to, without a bound. So the text that
is given to it is looked at first. Entities are told by their declarations alone, wherever these
stand, so that nothing depends on where a parser takes the document type to begin or to end.

Reference: XML 1.0, section "Physical Structures".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..errors import TextError

_OPENING: Final = b"<!ENTITY"
_ENTITY: Final = re.compile(
    _OPENING + rb"\s++([^\s%\"'<>&]{1,255}+)\s++(?:\"([^\"<]*+)\"|'([^'<]*+)')[ \t\r\n]*+>"
)
_REFERENCE: Final = re.compile(rb"&(?!#)([^\s;&]++);")

#: More bytes than a reference has.
_NAME_BYTES: Final = 1 << 9
#: Bytes that an entity may stand for, with those in it.
_ENTITY_BYTES: Final = 1 << 16
#: Bytes that its declaration may take.
_DECLARATION_BYTES: Final = 1 << 17
#: Bytes that all references may stand for, and how many more for each byte of the text.
_EXPANDED_BYTES: Final = 1 << 24
_EXPANDED_PER_BYTE: Final = 16


class EntityGuard:
    """Refuses entities of one text, which comes in pieces.

    :param line: number of its first line.
    :ivar expanded: bytes that its references stand for.
    """

    def __init__(self, line: int = 1) -> None:
        self.expanded = 0
        self._size = 0
        self._line = line
        #: Bytes that each entity stands for.
        self._entities: dict[bytes, int] = {}
        #: The end of what was looked at, which may be the start of a declaration or a reference.
        self._rest = b""
        self._waiting: list[bytes] = []
        #: Bytes of the text in which a declaration that has begun has to end; 0 if none has.
        self._declaring = 0

    def look(self, piece: bytes) -> None:
        """Look at what comes next.

        :raises TextError: entities expand to too much, or are of a kind that is not known here;
            with the line.
        """
        self._size += len(piece)
        self._waiting.append(piece)
        if self._declaring and b">" not in piece and self._size < self._declaring:
            # A declaration goes on.
            return
        data = b"".join((self._rest, *self._waiting))
        self._waiting.clear()
        done = self._declare(data)
        if self._entities:
            sizes = self._entities
            self.expanded += sum(sizes.get(name, 0) for name in _REFERENCE.findall(data, 0, done))
            if self.expanded > _EXPANDED_BYTES + _EXPANDED_PER_BYTE * self._size:
                raise self._error(f"entities expand to {self.expanded} bytes", data, done)
        self._line += data.count(b"\n", 0, done)
        self._rest = data[done:]

    def _declare(self, data: bytes) -> int:
        """Note the entities that a text declares.

        :return: where the text ends that is known to be whole.
        """
        self._declaring = 0
        pos = 0
        while (start := data.find(_OPENING, pos)) >= 0:
            found = _ENTITY.match(data, start)
            if found is None:
                if b">" in data[start:] or len(data) - start > _DECLARATION_BYTES:
                    raise self._error("an entity of a kind that is not read here", data, start)
                self._declaring = self._size - (len(data) - start) + _DECLARATION_BYTES + 1
                return start
            value = found[2] or found[3] or b""
            sizes = self._entities
            size = len(value) + sum(sizes.get(name, 0) for name in _REFERENCE.findall(value))
            if size > _ENTITY_BYTES:
                raise self._error(f"an entity expands to {size} bytes", data, start)
            sizes[found[1]] = size
            pos = found.end()
        opening = data.rfind(b"<", max(pos, len(data) - len(_OPENING) + 1))
        if self._entities:
            opening = max(opening, data.rfind(b"&", max(pos, len(data) - _NAME_BYTES)))
            if b";" in data[opening:]:
                opening = -1
        return len(data) if opening < 0 else opening

    def _error(self, what: str, data: bytes, pos: int) -> TextError:
        return TextError(what, line=self._line + data.count(b"\n", 0, pos))


def guarded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of a text in XML, each of which comes out once it was looked at.

    :raises TextError: see :class:`EntityGuard`.

    >>> bomb = b'<!DOCTYPE a [<!ENTITY b "' + b"c" * 70000 + b'">]><a>&b;</a>'
    >>> list(guarded([bomb]))
    Traceback (most recent call last):
    jelly_plugins.errors.TextError: line 1: an entity expands to 70000 bytes
    """
    guard = EntityGuard()
    for piece in pieces:
        guard.look(piece)
        yield piece

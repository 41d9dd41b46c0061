"""The exceptions of the package: every invalid input raises a :class:`JellyError`.

An error has a location: the name of the source, the frame and the row, as far as known.
The codec sets frame and row; the code that opened the source adds its name.

>>> str(WireError("a field ends after its message", source="x.jelly", frame=3, row=7))
'x.jelly: frame 3, row 7: a field ends after its message'
"""

from __future__ import annotations

import reprlib
from typing import Final, Self

#: Characters of a value, or of a source's name, that a message has. Data may be given as either.
_SHOWN: Final = 100
_SHOWN_NAME: Final = 1000

_REPR: Final = reprlib.Repr()
_REPR.maxlevel = 2
_REPR.maxstring = _REPR.maxother = _SHOWN


def shown(value: object) -> str:
    """The repr of a wrong argument for a message, shortened.

    >>> shown("data.ttl"), len(shown([b"x" * 1000] * 1000))
    ("'data.ttl'", 99)
    """
    return _cut(_REPR.repr(value), _SHOWN)


def _cut(text: str, most: int) -> str:
    half = most // 2 - 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def _located(source: str | None, places: dict[str, int | None], message: str) -> str:
    """A message after its place, as far as known."""
    place = ", ".join(f"{word} {number}" for word, number in places.items() if number is not None)
    where = [part for part in (source and _cut(source, _SHOWN_NAME), place) if part]
    return ": ".join([*where, message])


class JellyError(ValueError):
    """Input that cannot be read, or data that cannot be written.

    :ivar message: the description, without the location.
    :ivar source: name of the file or stream, where known.
    :ivar frame: number of the frame in its stream, from 0, where known.
    :ivar row: number of the row in its frame, from 0, where known.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        frame: int | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.frame = frame
        self.row = row

    def locate(
        self, *, source: str | None = None, frame: int | None = None, row: int | None = None
    ) -> Self:
        """Fill in what is not known yet about the place, and return the error itself."""
        if self.source is None:
            self.source = source
        if self.frame is None:
            self.frame = frame
        if self.row is None:
            self.row = row
        return self

    def __str__(self) -> str:
        return _located(self.source, {"frame": self.frame, "row": self.row}, self.message)


class SourceError(JellyError):
    """The source cannot be opened, decompressed or recognised."""


class WireError(JellyError):
    """The bytes are not a Jelly message: malformed Protocol Buffers, bad UTF-8, another dialect."""


class TruncatedError(WireError):
    """The input ends inside a frame, a patch or a transaction."""


class TextError(JellyError):
    """Invalid N-Triples, N-Quads or RDF Patch, or text that Jelly cannot express.

    :ivar line: number of the line, from 1, where known.
    :ivar column: number of the character in the line, or in the cell of a table, from 1, where
        known.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, source=source)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        places = {"row": self.row, "line": self.line, "column": self.column}
        return _located(self.source, places, self.message)


class LimitError(JellyError):
    """A length, table size, depth or count is above the limits in force (see ``Limits``)."""


class OptionsError(JellyError):
    """Stream options are missing, inconsistent, unsupported, or differ from earlier ones."""


class OrderError(JellyError):
    """A row occurs where the stream's type or state does not allow it."""


class LookupTableError(JellyError):
    """A lookup entry is outside its table, or a reference names an entry that was never set."""


class StatementError(JellyError):
    """A statement breaks the rules: a repeat of nothing, or a feature that was not declared."""


class TermError(JellyError):
    """A term cannot be held by the target, or cannot be expressed in Jelly."""


class MissingExtraError(JellyError, ImportError):
    """A library is missing that an optional part needs; the message says how to install it."""

    @classmethod
    def of(cls, message: str, extra: str, *, source: str | None = None) -> Self:
        """Return the error for a part that needs an extra.

        >>> MissingExtraError.of("Arrow needs a library", "arrow").message
        "Arrow needs a library: pip install 'jelly-plugins[arrow]' (in a checkout: '.[arrow]')"
        """
        return cls(f"{message}: {install_line(extra)}", source=source)


def install_line(extra: str) -> str:
    """Return the command that installs an extra of this package."""
    return f"pip install 'jelly-plugins[{extra}]' (in a checkout: '.[{extra}]')"


class ServiceError(JellyError):
    """A streaming service rejects a call, cannot be reached, or ends a stream early.

    :ivar status: name of gRPC's status code, such as ``"INVALID_ARGUMENT"`` or ``"UNAVAILABLE"``.
    """

    # Copying and pickling call the class with the message alone.
    def __init__(self, message: str, *, status: str = "UNKNOWN", source: str | None = None) -> None:
        super().__init__(message, source=source)
        self.status = status

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.status})"


class ChainError(JellyError):
    """A patch does not follow the one before it, or a log not what was applied of it.

    :ivar expected: id of the patch that was expected before it, if any.
    :ivar found: id that was found instead, if any.
    """

    def __init__(
        self, message: str, *, expected: str | None = None, found: str | None = None
    ) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class ConflictError(JellyError):
    """A patch adds an existing statement or deletes a missing one, which was not allowed."""

"""The delimiters between messages, and the errors for wrong ones."""

from __future__ import annotations

from typing import Final

from .boundaries import DELIMITER
from .formats import WRITTEN_LABEL

#: What announces a log.
HEADER: Final = f'VERSION "{WRITTEN_LABEL}"\n'.encode()

_COMMENT: Final = b"# @message\n"

UNANNOUNCED: Final = (
    f'a delimiter in what does not announce itself as a message log: VERSION "{WRITTEN_LABEL}" or '
    f"the media type's parameter version={WRITTEN_LABEL} is missing"
)


class Delimiters:
    """The delimiters of today's dialect: one ends each message.

    >>> delimiters = Delimiters()
    >>> delimiters.before(True), delimiters.after()
    (b'', b'MESSAGE\\n')
    """

    #: What the log opens with.
    header: bytes = HEADER

    def before(self, _empty: bool, /) -> bytes:
        """The text before a message."""
        return b""

    def after(self) -> bytes:
        """The text after a message."""
        return DELIMITER

    def end(self) -> bytes:
        """The text at the end of the log."""
        return b""


class EarlyDelimiters(Delimiters):
    """The delimiters of the early draft: comments between messages.

    One at the start of a log makes no empty message, so that an empty first message needs two; one
    at the end opens no message, so that an empty last message needs one more.

    >>> delimiters = EarlyDelimiters()
    >>> delimiters.before(False), delimiters.before(True), delimiters.end()
    (b'', b'# @message\\n', b'# @message\\n')
    """

    header = b""

    def __init__(self) -> None:
        self._first = True
        self._empty = False

    def before(self, empty: bool, /) -> bytes:
        needed = empty or not self._first
        self._first = False
        self._empty = empty
        return _COMMENT if needed else b""

    def after(self) -> bytes:
        return b""

    def end(self) -> bytes:
        return _COMMENT if self._empty else b""

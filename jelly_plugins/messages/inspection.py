"""What a message log is made of. Reads all of it, keeps none of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..io.sources import Source
from .reader import read_messages


@dataclass(slots=True, kw_only=True)
class LogReport:
    """A whole log.

    :ivar source: its name.
    :ivar format: its syntax.
    :ivar messages: number of messages; ``empty`` of them have no quads.
    :ivar quads: number of quads in all of them.
    :ivar largest: number of quads of the message that has most.
    """

    source: str
    format: str
    messages: int = 0
    empty: int = 0
    quads: int = 0
    largest: int = 0

    @property
    def quads_per_message(self) -> float | None:
        """Quads in a message, on average; None without messages."""
        return self.quads / self.messages if self.messages else None


def inspect_messages(src: Source, **settings: Any) -> LogReport:
    """Read a log and report what it is made of.

    :param settings: see ``read_messages``.
    :raises JellyError: the log is malformed.

    >>> log = b'VERSION "1.2-messages" <urn:a> <urn:p> 1, 2 . MESSAGE MESSAGE'
    >>> report = inspect_messages(log, format="ttl")
    >>> report.messages, report.empty, report.quads, report.largest
    (2, 1, 2, 2)
    """
    with read_messages(src, **settings) as messages:
        report = LogReport(source=messages.name, format=str(messages.syntax.format))
        for message in messages:
            report.messages += 1
            report.empty += not message.quads
            report.quads += len(message.quads)
            report.largest = max(report.largest, len(message.quads))
    return report

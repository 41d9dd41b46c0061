"""Read message logs in every syntax."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, Self, Unpack

from ..codec import Limits
from ..errors import JellyError, shown
from ..formats.reading import pyoxigraph_module
from ..io.sources import Closing, Input, Source, name_of
from ..lazy import library
from ..notebook import table
from .documents import ndjson_ld_events, rdf_xml_events
from .formats import LogFormat, Syntax, format_of, syntax_named
from .jelly import read_jelly
from .lines import line_events
from .model import Message
from .text import Event, QuadReader, ReadOptions, ReadSettings, TextLog, of_message
from .turtle import turtle_events
from .yaml_ld import yaml_ld_events


class MessageReader(Closing):
    """The messages of a log, one after the other: an iterator, and a context manager that closes
    the source.

    :func:`read_messages` makes them.

    :ivar syntax: of the log.
    :ivar name: name of the source in error messages.
    """

    def __init__(self, src: Source, syntax: Syntax, settings: ReadSettings) -> None:
        self.syntax = syntax
        self.name = name_of(src)
        self._messages: Generator[Message]
        self._log: TextLog | None = None
        if syntax.format is LogFormat.JELLY:
            self._messages = read_jelly(src, settings.limits)
        else:
            self._log = open_log(src, syntax, settings)
            self._messages = read_text(self._log, settings.limits)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Message:
        return next(self._messages)

    def _repr_html_(self) -> str:
        return table(type(self).__name__, [("source", self.name), ("syntax", self.syntax)])

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._messages.close()
        # A generator that was not started closes nothing.
        if self._log is not None:
            self._log.close()


def read_messages(
    src: Source,
    *,
    format: str | None = None,  # noqa: A002
    dialect: str | None = None,
    **settings: Unpack[ReadOptions],
) -> MessageReader:
    """Read the messages of a log, in memory that does not grow with it.

    :param src: path, URL, open binary file or bytes; gzip, bz2 and zstd are detected from the
        content.
    :param format: the syntax by its file ending (``"nq"``), title (``"N-Quads"``) or media type,
        whose parameters count (``"text/turtle; version=1.2-messages"``); by default detected
        from the name of the source.
    :param dialect: ``"2025-comment"`` for logs of the early draft, whose delimiters are comments.
    :param settings: see :class:`~jelly_plugins.messages.ReadSettings`.
    :return: an iterator and context manager.
    :raises JellyError: while iterating: the log is malformed; with its line, or frame and row.
    :raises MissingExtraError: the syntax needs a library that is not installed.
    :raises ValueError: the syntax or dialect is unknown, or the source's name does not indicate
        one.

    Reference: RDF Messages, section "Serializing and parsing RDF Message Logs".

    >>> log = b'VERSION "1.2-messages"\\n<urn:a> <urn:p> <urn:b> .\\nMESSAGE\\nMESSAGE\\n'
    >>> [len(message) for message in read_messages(log, format="nt")]
    [1, 0]
    """
    return MessageReader(src, source_syntax(src, format, dialect), ReadSettings(**settings))


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


def inspect_messages(
    src: Source,
    *,
    format: str | None = None,  # noqa: A002
    dialect: str | None = None,
    **settings: Unpack[ReadOptions],
) -> LogReport:
    """Read a log and count its messages, in memory that does not grow with it.

    The parameters are those of :func:`read_messages`.

    :raises JellyError: the log is malformed.

    >>> log = b'VERSION "1.2-messages" <urn:a> <urn:p> 1, 2 . MESSAGE MESSAGE'
    >>> report = inspect_messages(log, format="ttl")
    >>> report.messages, report.empty, report.quads, report.largest
    (2, 1, 2, 2)
    """
    with read_messages(src, format=format, dialect=dialect, **settings) as messages:
        report = LogReport(source=messages.name, format=str(messages.syntax.format))
        for message in messages:
            report.messages += 1
            report.empty += not message.quads
            report.quads += len(message.quads)
            report.largest = max(report.largest, len(message.quads))
    return report


def source_syntax(src: Any, name: str | None, dialect: str | None) -> Syntax:
    """The requested syntax, or that of the name of a source or destination."""
    if name is None:
        requested = format_of(src)
        if requested is None:
            raise ValueError(f"the syntax of {shown(name_of(src))} is not known: format= names it")
        name = requested
    return syntax_named(name, dialect)


def open_log(src: Source, syntax: Syntax, settings: ReadSettings) -> TextLog:
    """Open a source in any syntax but Jelly."""
    form = syntax.format
    # Report a missing library here, before the first message is requested.
    if form is LogFormat.YAML_LD:
        library("yaml", "YAML-LD", "messages")
    lines = form in (LogFormat.N_TRIPLES, LogFormat.N_QUADS)
    if not lines:
        pyoxigraph_module()
    source = Input(src)
    return TextLog(
        source,
        _SPLITTERS[form](source, syntax, settings),
        settings.limits,
        has_graphs=form.has_graphs,
        validated=not lines,
    )


_SPLITTERS: Final[dict[LogFormat, Callable[[Input, Syntax, ReadSettings], Generator[Event]]]] = {
    LogFormat.N_TRIPLES: line_events,
    LogFormat.N_QUADS: line_events,
    LogFormat.TURTLE: turtle_events,
    LogFormat.TRIG: turtle_events,
    LogFormat.NDJSON_LD: ndjson_ld_events,
    LogFormat.YAML_LD: yaml_ld_events,
    LogFormat.RDF_XML: rdf_xml_events,
}


def read_text(log: TextLog, limits: Limits) -> Generator[Message]:
    """The messages of an open log, which is closed at the end."""
    reader = QuadReader(limits)
    with log:
        for index, message in enumerate(log):
            try:
                quads = reader.quads(message)
            except JellyError as error:
                raise of_message(error, index).locate(source=log.name) from None
            yield Message(quads, index, log.name, message.line)

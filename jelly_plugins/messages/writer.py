"""Write message logs in every syntax: :func:`write_messages`, :func:`convert_messages`.

Logs are converted message by message, as text (see ``text``), except from Jelly to Jelly. The
writers of ``formats`` write the statements of a message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, Final, Unpack

from ..codec import StreamOptions, usual_lines
from ..errors import JellyError
from ..formats.convert import FORMATS
from ..formats.jelly import UndeclaredError
from ..formats.settings import ConversionSettings, Job
from ..io.chunks import Chunk, ChunkReader
from ..io.sinks import Destination, is_replaceable, open_output
from ..io.sinks import Writable as Output
from ..io.sources import Format, Source, rewinder
from ..io.streams import Steps
from ..lazy import library
from .formats import COMMENT, DELIMITER, HEADER, Dialect, LogFormat, Syntax
from .jelly import JellyText, JellyWriter
from .model import Message, Writable, message_of
from .reader import MessageReader, open_log, source_syntax
from .text import (
    ConvertOptions,
    ConvertSettings,
    QuadWriter,
    TextLog,
    TextMessage,
    WriteOptions,
    WriteSettings,
    log_options,
    of_message,
    without_place,
)

_PREFIX: Final = re.compile(r"(?:[A-Za-z](?:[A-Za-z0-9_-]*+))?+")
#: The declarations before the statements of a message.
_DECLARATIONS: Final = re.compile(rb"(?:@prefix [^\n]*+\n)*+")
#: The content of an RDF/XML element without child elements, if it has line feeds.
_LITERAL: Final = re.compile(rb"(<(?!rdf:RDF)[^/!?<>][^<>]*+(?<!/)>)([^<\n]*+\n[^<]*+)(?=</)")
_INDENTATION: Final = re.compile(rb"\n\t*+")

#: Maximum number of characters in a line of YAML.
_WIDTH: Final = 1 << 30


def write_messages(
    messages: Iterable[Writable],
    dst: Destination,
    *,
    format: str | None = None,  # noqa: A002
    dialect: str | None = None,
    **settings: Unpack[WriteOptions],
) -> int:
    """Write messages as a log, in memory that does not grow with it.

    :param messages: each of them one that was read, an rdflib graph or dataset, or statements in
        generic terms, rdflib's or pyoxigraph's.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: the syntax by its file ending, title or media type; by default detected from the
        name of ``dst``.
    :param dialect: ``"2025-comment"`` to write the comments of the early draft as delimiters.
    :param settings: see :class:`~jelly_plugins.messages.WriteSettings`.
    :return: the number of messages.
    :raises JellyError: a message cannot be expressed in this syntax; the error has its number.
    :raises ValueError: the syntax or dialect is unknown, or the name of ``dst`` does not indicate
        one.

    >>> import io
    >>> from jelly_plugins import Iri, Triple
    >>> out = io.BytesIO()
    >>> write_messages([[Triple(Iri("urn:a"), Iri("urn:p"), Iri("urn:b"))], []], out, format="ttl")
    2
    >>> print(out.getvalue().decode(), end="")
    VERSION "1.2-messages"
    <urn:a> <urn:p> <urn:b> .
    MESSAGE
    MESSAGE
    """
    syntax = source_syntax(dst, format, dialect)
    wanted = WriteSettings(**settings)
    options = wanted.options or log_options(graphs=True)
    steps = Steps(wanted.progress)
    with open_output(dst) as out:
        writer = _writer(out, syntax, options, wanted)
        number = _write_all(
            messages,
            lambda item: writer.write(message_of(item)),
            lambda error: without_place(error, None),
            steps,
        )
        writer.finish()
        steps.end(number)
    return number


def _writer(
    out: Output,
    syntax: Syntax,
    options: StreamOptions,
    settings: WriteSettings,
    log: TextLog | JellyText | MessageReader | None = None,
) -> JellyWriter | TextWriter:
    """The writer of a log.

    :param log: the log that the messages come from; None for messages that the caller made.
    """
    if syntax.format is LogFormat.JELLY:
        return JellyWriter(out, options, settings.limits, None if log is None else log.name)
    assert not isinstance(log, MessageReader)
    return TextWriter(out, syntax, settings, log)


def _write_all(
    messages: Iterable[Any],
    write: Callable[[Any], None],
    located: Callable[[JellyError], JellyError],
    steps: Steps,
) -> int:
    """Write messages; return their number."""
    number = 0
    for number, message in enumerate(messages, 1):
        try:
            write(message)
        except JellyError as error:
            raise of_message(located(error), number - 1) from None
        steps.reach(number)
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConversion:
    """What was written.

    :ivar messages: number of messages.
    :ivar left_out: number of things that the target cannot express, by kind.
    """

    messages: int
    left_out: dict[str, int] = field(default_factory=dict)


def convert_messages(
    src: Source,
    dst: Destination,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    source_dialect: str | None = None,
    target_dialect: str | None = None,
    **settings: Unpack[ConvertOptions],
) -> LogConversion:
    """Convert a log, in memory that does not grow with it.

    :param source_format: see ``format`` of ``read_messages``, and ``dialect`` for
        ``source_dialect``.
    :param target_format: see ``format`` of ``write_messages``, and ``dialect`` for
        ``target_dialect``.
    :param settings: see :class:`~jelly_plugins.messages.ReadSettings` and
        :class:`~jelly_plugins.messages.WriteSettings`. Jelly is written as triples by default where
        the source has no graphs. ``rdf_star`` is added for quoted triples if ``src`` can be read
        again and ``dst`` is a file that is replaced; otherwise they need ``options``.
    :raises JellyError: the log is malformed, or the other syntax cannot express it.

    >>> import io
    >>> jelly, log = io.BytesIO(), b'VERSION "1.2-messages" <urn:a> <urn:p> 1 . MESSAGE MESSAGE'
    >>> convert_messages(log, jelly, source_format="ttl", target_format="jelly").messages
    2
    """
    source = source_syntax(src, source_format, source_dialect)
    target = source_syntax(dst, target_format, target_dialect)
    wanted = ConvertSettings(**settings)
    steps = Steps(wanted.progress)
    options = wanted.options or log_options(graphs=source.format.has_graphs)
    again = rewinder(src) if is_replaceable(dst) else None
    try:
        return _convert(src, dst, source, target, options, wanted, steps)
    except UndeclaredError:
        if again is None:
            raise
        again()
        options = replace(options, rdf_star=True)
        return _convert(src, dst, source, target, options, wanted, steps)


def _convert(
    src: Source,
    dst: Destination,
    source: Syntax,
    target: Syntax,
    options: StreamOptions,
    settings: ConvertSettings,
    steps: Steps,
) -> LogConversion:
    limits = settings.limits
    from_jelly = source.format is LogFormat.JELLY
    with ExitStack() as stack:
        log: TextLog | JellyText | MessageReader
        if not from_jelly:
            log = open_log(src, source, settings)
        elif target.format is LogFormat.JELLY:
            # Unlike text, frames can have generalized statements and metadata.
            log = MessageReader(src, source, settings)
        else:
            log = JellyText(src, limits)
        stack.enter_context(log)
        out = stack.enter_context(open_output(dst))
        writer = _writer(out, target, options, settings, log)
        name = log.name
        number = _write_all(log, writer.write, lambda error: error.locate(source=name), steps)
        writer.finish()
        steps.end(number)
    left_out = {"frame metadata entries": writer.left_out} if writer.left_out else {}
    return LogConversion(messages=number, left_out=left_out)


class _Source(ChunkReader):
    """One message as a source of the writers of ``formats``."""

    def __init__(self, log: TextLog | JellyText | None, namespaces: Mapping[str, str]) -> None:
        self.name = ""
        self.namespaces = dict(namespaces)
        # Quads that a caller made may have named graphs and relative IRIs.
        self.has_graphs = log is None or log.has_graphs
        self.has_relative_iris = log is None or log.has_relative_iris
        self.validated = log is not None and log.validated
        self.text = b""

    def __iter__(self) -> Iterator[Chunk]:
        yield Chunk(self.text, self.text.count(b"\n"))

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class TextWriter:
    """Writes messages as a log of text; see :func:`_writer`.

    :ivar left_out: number of entries of frames' metadata that were not written.
    """

    def __init__(
        self,
        out: Output,
        syntax: Syntax,
        settings: WriteSettings,
        log: TextLog | JellyText | None,
    ) -> None:
        prefixes = settings.namespaces or {}
        self.left_out = 0
        self._out = out
        self._lines = QuadWriter(settings.limits)
        is_json = syntax.format in (LogFormat.NDJSON_LD, LogFormat.YAML_LD)
        self._format = Format.JSON_LD if is_json else Format(syntax.format)
        self._job = Job(settings=ConversionSettings(notation=settings.notation))
        self._source = _Source(log, prefixes)
        self._finished = _FINISHED.get(syntax.format)
        self._quads = syntax.format.has_graphs
        delimited = syntax.format.has_delimiters
        self._early = delimited and syntax.dialect is Dialect.COMMENT_2025
        self._after = DELIMITER if delimited and not self._early else b""
        self._first = True
        #: Whether the last message had no statements.
        self._empty = False
        if self._after:
            out.write(HEADER)
        for prefix, iri in prefixes.items():
            if _PREFIX.fullmatch(prefix) is None:
                raise ValueError(f"{prefix!r} is not a prefix that is written here")
            if syntax.format in (LogFormat.TURTLE, LogFormat.TRIG):
                out.write(f"PREFIX {prefix}: <{iri}>\n".encode())

    def write(self, message: Message | TextMessage) -> None:
        """Write a message."""
        if isinstance(message, Message):
            message = TextMessage(self._lines.text(message.quads))
        text = self._source.text = message.text
        if message.metadata:
            self.left_out += len(message.metadata)
        if self._finished is None and usual_lines(text, 0, self._quads)[2] == len(text):
            # Lines that any reader accepts: a third of the time.
            data = text
        else:
            written = BytesIO()
            FORMATS[self._format].write(self._source, written, self._format, self._job)
            data = written.getvalue()
            if self._finished is not None:
                data = self._finished(data)
        if self._early:
            # A comment at the start of a log does not end a message, so an empty first message
            # needs two.
            if not text or not self._first:
                self._out.write(COMMENT)
            self._first = False
            self._empty = not text
        self._out.write(data + self._after)

    def finish(self) -> None:
        """End the log."""
        if self._early and self._empty:
            # A comment at the end does not begin a message, so an empty last message needs one
            # more.
            self._out.write(COMMENT)


def _statements(data: bytes) -> bytes:
    """Turtle without the declarations at its start."""
    return _DECLARATIONS.sub(b"", data, count=1)


def _one_line(data: bytes) -> bytes:
    """A document of RDF/XML on one line."""
    data = _LITERAL.sub(lambda found: found[1] + found[2].replace(b"\n", b"&#10;"), data)
    return _INDENTATION.sub(b"", data) + b"\n"


def _object(data: bytes) -> bytes:
    """The nodes of JSON-LD as one object on one line."""
    return b'{"@graph":' + data + b"}\n" if data != b"[]" else b"{}\n"


def _document(data: bytes) -> bytes:
    """The nodes of JSON-LD as a document of YAML, in which all scalars are quoted."""
    yaml = library("yaml", "YAML-LD", "messages")
    document: bytes = yaml.dump(
        json.loads(_object(data)),
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        allow_unicode=True,
        default_style='"',
        encoding="utf-8",
        explicit_start=True,
        sort_keys=False,
        width=_WIDTH,
    )
    return document


_FINISHED: Final[dict[LogFormat, Callable[[bytes], bytes]]] = {
    LogFormat.TURTLE: _statements,
    LogFormat.TRIG: _statements,
    LogFormat.RDF_XML: _one_line,
    LogFormat.NDJSON_LD: _object,
    LogFormat.YAML_LD: _document,
}

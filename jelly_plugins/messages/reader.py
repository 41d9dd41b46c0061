"""Reading message logs, whatever their syntax."""

from __future__ import annotations

from typing import Any, Self

from ..codec import DEFAULT_LIMITS, Limits
from ..formats.contexts import Contexts
from ..io.sources import Closing, Input, Source, name_of
from ..notebook import table
from .formats import LogFormat, Syntax, format_of, syntax_named
from .jelly import FrameGroups, read_jelly
from .lines import LineLog, read_lines
from .model import Message
from .parsing import ParsedLog, ReadSettings


class MessageReader(Closing):
    """The messages of a log, one after the other: an iterator, and a context manager that closes
    the source.

    :func:`read_messages` makes them.

    :ivar syntax: of the log.
    """

    def __init__(self, src: Source, syntax: Syntax, settings: ReadSettings) -> None:
        self.syntax = syntax
        self._input = Input(src)
        limits = settings.limits
        if syntax.format is LogFormat.JELLY:
            self._messages = read_jelly(FrameGroups(self._input, limits), limits)
        else:
            self._messages = read_lines(line_log(self._input, syntax, settings), limits)

    @property
    def name(self) -> str:
        """The source's name, as errors have it."""
        return self._input.name

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Message:
        return next(self._messages)

    def _repr_html_(self) -> str:
        return table(type(self).__name__, [("source", self.name), ("syntax", self.syntax)])

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._messages.close()  # type: ignore[attr-defined]
        self._input.close()


def read_messages(
    src: Source,
    *,
    format: str | None = None,  # noqa: A002
    dialect: str | None = None,
    base: str | None = None,
    context: Any = None,
    contexts: Contexts | None = None,
    strict: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> MessageReader:
    """Read the messages of a log, in memory that does not grow with it.

    :param src: path, URL, open binary file or bytes; gzip, bz2 and zstd are detected from the
        content.
    :param format: the syntax by its file ending (``"nq"``), title (``"N-Quads"``) or media type,
        whose parameters count (``"text/turtle; version=1.2-messages"``); by default detected
        from the name of the source.
    :param dialect: ``"2025-comment"`` for logs of the early draft, whose delimiters are comments.
    :param base: IRI that relative ones are resolved against.
    :param context: JSON-LD context that is in force at first, in NDJSON-LD, or in each document,
        in YAML-LD.
    :param contexts: remote contexts by IRI, or a function that returns one for an IRI. They are
        never fetched.
    :param strict: whether to reject blank lines in NDJSON-LD.
    :param limits: the limits on untrusted input. ``frame_rows`` bounds the statements of a
        message, ``frame_expansion`` their text, ``frame_bytes`` a line, a statement, a document or
        a frame.
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
    syntax = source_syntax(src, format, dialect)
    settings = ReadSettings(
        base=base, context=context, contexts=contexts, strict=strict, limits=limits
    )
    return MessageReader(src, syntax, settings)


def source_syntax(src: Any, name: str | None, dialect: str | None) -> Syntax:
    """The requested syntax, or that of the name of a source or destination.

    :raises ValueError: there is neither.
    """
    if name is None:
        requested = format_of(src)
        if requested is None:
            raise ValueError(f"the syntax of {name_of(src)} is not known: format= names it")
        name = requested
    return syntax_named(name, dialect)


def line_log(source: Input, syntax: Syntax, settings: ReadSettings) -> LineLog:
    """An open source in any syntax but Jelly, as a log of lines."""
    format_ = syntax.format
    limits = settings.limits
    if format_ in (LogFormat.N_TRIPLES, LogFormat.N_QUADS):
        return LineLog(source, syntax, limits)
    log: ParsedLog
    # These need libraries that may not be there.
    if format_ in (LogFormat.TURTLE, LogFormat.TRIG):
        from .turtle_reader import turtle_log

        log = turtle_log(source, syntax, settings)
    elif format_ is LogFormat.RDF_XML:
        from .rdf_xml import rdf_xml_log

        log = rdf_xml_log(source, settings)
    elif format_ is LogFormat.YAML_LD:
        from .yaml_ld import yaml_ld_log

        log = yaml_ld_log(source, settings)
    else:
        from .json_ld import ndjson_ld_log

        log = ndjson_ld_log(source, syntax, settings)
    lines = LogFormat.N_QUADS if format_.has_graphs else LogFormat.N_TRIPLES
    return LineLog(log, Syntax(lines, announced=True), limits)

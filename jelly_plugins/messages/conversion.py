"""Convert logs from one syntax to another, message by message, as text: see ``text``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from ..codec import StreamOptions
from ..errors import JellyError
from ..formats.jelly import UndeclaredError
from ..io.sinks import Destination, is_replaceable, open_output
from ..io.sources import Source, rewinder
from ..io.streams import Steps
from .formats import LogFormat, Syntax
from .jelly import JellyText, JellyWriter
from .reader import MessageReader, open_log, source_syntax
from .text import ConvertOptions, ConvertSettings, log_options, of_message
from .text_writer import TextWriter


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
        result = _convert(src, dst, source, target, options, wanted, steps)
    except UndeclaredError:
        if again is None:
            raise
        again()
        options = replace(options, rdf_star=True)
        result = _convert(src, dst, source, target, options, wanted, steps)
    steps.end(result.messages)
    return result


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
    log: Any
    write: Callable[[Any], None]
    text: TextWriter | None = None
    with ExitStack() as stack:
        if target.format is not LogFormat.JELLY:
            log = JellyText(src, limits) if from_jelly else open_log(src, source, settings)
            stack.enter_context(log)
            out = stack.enter_context(open_output(dst))
            text = TextWriter(out, target, settings.namespaces or {}, settings.notation, log)
            write = text.write
        elif from_jelly:
            # Unlike text, frames can have generalized statements and metadata.
            log = stack.enter_context(MessageReader(src, source, settings))
            out = stack.enter_context(open_output(dst))
            write = JellyWriter(out, options, limits, log.name).write_quads
        else:
            log = stack.enter_context(open_log(src, source, settings))
            out = stack.enter_context(open_output(dst))
            write = JellyWriter(out, options, limits, log.name).write_text
        number = metadata = 0
        for number, message in enumerate(log, 1):
            try:
                write(message)
            except JellyError as error:
                raise of_message(error, number - 1).locate(source=log.name) from None
            if message.metadata:
                metadata += len(message.metadata)
            steps.reach(number)
        if text is not None:
            text.finish()
    left_out = {"frame metadata entries": metadata} if metadata and text is not None else {}
    return LogConversion(messages=number, left_out=left_out)

"""Write message logs in every syntax: :func:`write_messages`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Unpack

from ..errors import JellyError
from ..io.sinks import Destination, open_output
from ..io.streams import Steps
from .formats import LogFormat
from .jelly import JellyWriter
from .model import Message, Writable, message_of
from .reader import source_syntax
from .text import (
    QuadWriter,
    TextMessage,
    WriteOptions,
    WriteSettings,
    log_options,
    of_message,
    without_place,
)
from .text_writer import TextWriter


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
    limits = wanted.limits
    steps = Steps(wanted.progress)
    number = 0
    with open_output(dst) as out:
        text: TextWriter | None = None
        write: Callable[[Message], None]
        if syntax.format is LogFormat.JELLY:
            options = wanted.options or log_options(graphs=True)
            write = JellyWriter(out, options, limits).write_quads
        else:
            text = TextWriter(out, syntax, wanted.namespaces or {}, wanted.notation)
            write = partial(_write_text, text, QuadWriter(limits))
        for number, item in enumerate(messages, 1):
            try:
                write(message_of(item))
            except JellyError as error:
                raise of_message(without_place(error, None), number - 1) from None
            steps.reach(number)
        if text is not None:
            text.finish()
    steps.end(number)
    return number


def _write_text(text: TextWriter, quads: QuadWriter, message: Message) -> None:
    text.write(TextMessage(quads.text(message.quads)))

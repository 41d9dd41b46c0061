"""Writing message logs, whatever their syntax.

N-Triples, N-Quads and Jelly are written by the codec, many messages at once; the others message by
message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..codec import DEFAULT_LIMITS, Limits, PhysicalType, StreamOptions, TextDecoder
from ..codec.text.ntriples import Notation
from ..errors import JellyError
from ..io.progress import Progress, Steps
from ..io.sinks import Destination, open_output
from ..io.sinks import Writable as Output
from .delimiters import Delimiters, EarlyDelimiters
from .formats import Dialect, LogFormat, Syntax
from .json_writer import JsonLdMaker, ndjson_ld_text, yaml_ld_text
from .lines import LineWriter
from .model import Message, Writable, message_of
from .reader import source_syntax
from .rows import FrameCutter, RowWriter, batch_limits, batches, log_options, options_rows
from .turtle_writer import TurtleWriter
from .xml_writer import RdfXmlWriter


def write_messages(
    messages: Iterable[Writable],
    dst: Destination,
    *,
    format: str | None = None,  # noqa: A002
    dialect: str | None = None,
    namespaces: Mapping[str, str] | None = None,
    options: StreamOptions | None = None,
    notation: Notation = Notation.RDF_1_2,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write messages as a log, in memory that does not grow with it.

    :param messages: each of them one that was read, an rdflib graph or dataset, or statements in
        generic terms, rdflib's or pyoxigraph's.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: the syntax by its file ending, title or media type; by default detected from the
        name of ``dst``.
    :param dialect: ``"2025-comment"`` to write the comments of the early draft as delimiters.
    :param namespaces: IRI by name, for Turtle, TriG and RDF/XML.
    :param options: of the stream, for Jelly; by default quads, one dataset per frame. Quoted
        triples need ``rdf_star``.
    :param notation: of quoted triples, in N-Triples and N-Quads.
    :param progress: called about every 10,000 messages and at the end, with the number of
        messages since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output.
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
    steps = Steps(progress)
    counter = Counter(_numbered(messages), steps)
    write_log(
        counter,
        dst,
        syntax,
        prefixes=namespaces or {},
        options=options or log_options(graphs=True),
        notation=notation,
        limits=limits,
    )
    steps.end(counter.messages)
    return counter.messages


def write_log(
    messages: Iterable[Message],
    dst: Destination,
    syntax: Syntax,
    *,
    prefixes: Mapping[str, str],
    options: StreamOptions,
    notation: Notation,
    limits: Limits,
) -> None:
    """Write messages in a syntax; see :func:`write_messages` for the parameters."""
    with open_output(dst) as out:
        if syntax.format is LogFormat.JELLY:
            _write_jelly(messages, out, options, limits)
        elif syntax.format in (LogFormat.N_TRIPLES, LogFormat.N_QUADS):
            _write_lines(messages, out, syntax, notation, limits)
        else:
            _write_texts(messages, out, syntax, prefixes)


class Counter:
    """Counts messages that pass by.

    :param steps: called with the number of messages.
    """

    def __init__(self, messages: Iterable[Message], steps: Steps) -> None:
        self._iterator = iter(messages)
        self._steps = steps
        self.messages = 0
        #: Metadata entries that they have.
        self.metadata = 0

    def __iter__(self) -> Iterator[Message]:
        for message in self._iterator:
            self.messages += 1
            if message.metadata:
                self.metadata += len(message.metadata)
            yield message
            self._steps.reach(self.messages)


def _numbered(items: Iterable[Writable]) -> Iterator[Message]:
    """Messages of whatever can be written as such, numbered."""
    for index, item in enumerate(items):
        if isinstance(item, Message):
            yield item
            continue
        try:
            message = message_of(item)
        except JellyError as error:
            raise type(error)(f"message {index}: {error.message}") from None
        message.index = index
        yield message


def _write_texts(
    messages: Iterable[Message], out: Output, syntax: Syntax, prefixes: Mapping[str, str]
) -> None:
    """Write messages one by one."""
    format_ = syntax.format
    delimiters: Delimiters | None = None
    text: Callable[[Message], bytes]
    if format_ is LogFormat.NDJSON_LD:
        text = _json_ld("NDJSON-LD", ndjson_ld_text)
    elif format_ is LogFormat.YAML_LD:
        text = _json_ld("YAML-LD", yaml_ld_text)
    elif format_ is LogFormat.RDF_XML:
        text = RdfXmlWriter(prefixes).text
    else:
        graphs = format_.has_graphs
        turtle = TurtleWriter(name="TriG" if graphs else "Turtle", graphs=graphs, prefixes=prefixes)
        text = turtle.text
        delimiters = EarlyDelimiters() if syntax.dialect is Dialect.COMMENT_2025 else Delimiters()
        out.write(delimiters.header + turtle.header)
    for message in messages:
        try:
            data = text(message)
        except JellyError as error:
            raise type(error)(f"message {message.index}: {error.message}") from None
        if delimiters is not None:
            data = delimiters.before(not message.quads) + data + delimiters.after()
        out.write(data)
    if delimiters is not None:
        out.write(delimiters.end())


def _json_ld(name: str, text: Callable[[dict[str, Any]], bytes]) -> Callable[[Message], bytes]:
    maker = JsonLdMaker(name)
    return lambda message: text(maker.document(message))


def _write_lines(
    messages: Iterable[Message],
    out: Output,
    syntax: Syntax,
    notation: Notation,
    limits: Limits,
) -> None:
    options = log_options(graphs=syntax.format is LogFormat.N_QUADS, rdf_star=True)
    rows = RowWriter(options, limits)
    decoder = TextDecoder(notation, limits=batch_limits(limits))
    b"".join(decoder.decode(options_rows(options, limits)))
    writer = LineWriter(out, syntax.dialect)
    for batch in batches(messages):
        counts = [len(message.quads) for message in batch]
        writer.write(b"".join(decoder.decode(rows.rows(batch))), counts)
    writer.finish()


def _write_jelly(
    messages: Iterable[Message], out: Output, options: StreamOptions, limits: Limits
) -> None:
    rows = RowWriter(options, limits)
    cutter = FrameCutter(options_rows(options, limits), limits)
    in_graphs = options.physical_type is PhysicalType.GRAPHS
    for batch in batches(messages):
        if in_graphs or any(message.metadata for message in batch):
            for message in batch:
                out.write(cutter.frame(rows.frame(message)))
        else:
            counts = [len(message.quads) for message in batch]
            out.write(cutter.cut(rows.rows(batch), counts))

"""Whole files of rows: RDF Thrift and RDF Protobuf to chunks of N-Quads or statements, and back.

A row has no frame around it, so that an error has the number of its row in the file, from 0. Only
this module chooses the form of the codec of rows, compiled or not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from ..codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    AnyFrame,
    Frame,
    Iri,
    Kind,
    Limits,
    Statement,
    TermFactory,
)
from ..codec import describe as describe_generic
from ..codec import native as _native_codec
from ..codec.common.positions import GRAPH, OBJECT
from ..codec.common.terms import build, terms_of
from ..codec.text.lines import unescaped
from ..codec.text.ntriples import LineParser, read_label, statement_text
from ..errors import JellyError, SourceError, StatementError, TermError, TextError, shown
from ..io.chunks import Chunk, ChunkReader, reject_relative
from ..io.sinks import Destination, Writable, open_output
from ..io.sources import CHUNK, Closing, Input, Source, name_of
from ..io.streams import BATCH, GENERIC, Progress, Steps
from .names import DETECTION_BYTES, JenaFormat, detect, format_named, format_of

if TYPE_CHECKING:
    from . import rows
else:
    try:
        rows = import_module("._rows" if _native_codec else ".rows", __package__)
    except ModuleNotFoundError:
        from . import rows

I32, LIST, STRUCT, TEXT = rows.I32, rows.LIST, rows.STRUCT, rows.TEXT
Member = rows.Member
Message = rows.Message
RowReader = rows.RowReader
RowWriter = rows.RowWriter
StatementReader = rows.StatementReader

#: Whether the compiled form runs.
native: Final = RowWriter.__module__.endswith("._rows")

_T = TypeVar("_T")

#: Bytes that a reader is given at once, where the source has them ready.
_AT_ONCE: Final = 4 * CHUNK

#: The cache of terms is cleared at this many entries; terms with longer text are not kept.
_KEPT: Final = 1 << 16
_KEPT_BYTES: Final = 1 << 10


class _Terms(dict[bytes, Any]):
    """Terms by their text in canonical N-Quads, made when they are first looked up.

    :param factory: makes them. A language tag has its base direction: ``en--ltr``.
    """

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        super().__init__()
        self._factory = factory
        self.parser = LineParser(
            relative_iris=True, limits=limits, quads=True, base_directions=True
        )

    def __missing__(self, text: bytes) -> Any:
        made = self._made(str(text, "utf-8"))
        if len(text) <= _KEPT_BYTES:
            if len(self) >= _KEPT:
                self.clear()
            self[text] = made
        return made

    def _made(self, text: str) -> Any:
        factory = self._factory
        if text.startswith("<<"):
            return self._of_generic(self.parser.term(text.encode(), OBJECT))
        if text[0] == "<":
            return build(factory.iri, unescaped(text[1:-1]))
        if text[0] == "_":
            return build(factory.blank_node, read_label(text[2:]))
        end = text.rfind('"')
        mark = text[end + 1 : end + 2]
        langtag = text[end + 2 :] if mark == "@" else None
        datatype = unescaped(text[end + 4 : -1]) if mark == "^" else None
        return build(factory.literal, unescaped(text[1:end]), langtag, datatype)

    def _of_generic(self, term: Any) -> Any:
        kind, *parts = describe_generic(term)
        factory = self._factory
        if kind is Kind.TRIPLE:
            return build(factory.quoted_triple, *map(self._of_generic, parts))
        make: Any = (factory.iri, factory.blank_node, factory.literal)[kind]
        return build(make, *parts)


class TermReader(RowReader):
    """Reads rows in a library's terms.

    :param factory: makes the terms. A language tag has its base direction: ``en--ltr``.
    """

    def __init__(
        self,
        factory: TermFactory[Any],
        format: JenaFormat,  # noqa: A002
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(format, limits=limits)
        self.factory = factory
        self._terms = _Terms(factory, limits)

    def term(self, position: int) -> Any:
        """Read a term that is a member's value; see ``RowReader.term_text``.

        :return: the term; the default graph, or None for an undefined term.
        """
        text = self.term_text(position)
        if not text:
            return self.factory.default_graph if position == GRAPH else None
        return self._terms[text]


class RowsReader(ChunkReader):
    """Reads rows as chunks.

    :param format: how rows are encoded, as :class:`JenaFormat` or its name; by default detected
        from the source's name or the content.
    """

    def __init__(
        self,
        src: Source,
        format: JenaFormat | str | None = None,  # noqa: A002
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        named = None if format is None else format_named(format)
        self._input = Input(src)
        self.name = self._input.name
        self.namespaces = {}
        self._bytes = self._input.chunks()
        try:
            self.format = named or format_of(self.name) or self._detected()
        except BaseException:
            self._input.close()
            raise
        #: The rows, at the position of the last text.
        self.rows = StatementReader(self.format, limits=limits)

    def _detected(self) -> JenaFormat:
        """The encoding by the first bytes; a source without any has no rows in either."""
        head = b""
        for chunk in self._bytes:
            head += chunk
            if len(head) >= DETECTION_BYTES:
                break
        self._bytes = chain((head,), self._bytes)
        found = detect(head[:DETECTION_BYTES])
        if found is None and head:
            raise SourceError(
                "neither RDF Thrift nor RDF Protobuf: name the format", source=self.name
            )
        return found or JenaFormat.THRIFT

    def texts(self) -> Generator[bytes]:
        """The lines of each batch of rows, which may be none. An error closes the source."""
        try:
            for text in batches(self._bytes, self.rows.read_text, self.rows.end):
                self.namespaces.update(self.rows.declared)
                self.has_relative_iris = self.rows.has_relative_iris
                yield text
        except JellyError as error:
            raise error.locate(source=self.name) from error.__cause__
        finally:
            self._input.close()

    def __iter__(self) -> Iterator[Chunk]:
        before = 0
        for text in self.texts():
            if text:
                yield Chunk(text, self.rows.statements - before)
                before = self.rows.statements

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._input.close()


def batches(
    chunks: Iterable[bytes],
    read: Callable[[bytes, int], tuple[_T, int]],
    end: Callable[[bytes], object],
) -> Generator[_T]:
    """What rows contain that come in chunks.

    :param read: takes bytes and a position, and returns the contents of the rows from there on, and
        the position after the last whole one.
    :param end: takes the bytes after the last whole row.
    """
    pending: list[bytes] = []
    size = wanted = 0
    rest = b""
    for chunk in chain(chunks, (b"",)):
        pending.append(chunk)
        size += len(chunk)
        # Fast sources are read in large chunks: the overhead of a call is more work than a row. A
        # long row is not scanned again before there is twice as much of it.
        if chunk and (size < wanted or (size < _AT_ONCE and len(chunk) >= CHUNK)):
            continue
        rest = b"".join(pending)
        at = 0
        while at < len(rest):
            batch, stop = read(rest, at)
            yield batch
            if stop == at:
                break
            at = stop
        rest = rest[at:]
        pending = [rest]
        size = len(rest)
        wanted = 2 * size if size > CHUNK else 0
    end(rest)


def write_rows(
    source: ChunkReader,
    out: Writable,
    format: JenaFormat,  # noqa: A002
    *,
    namespaces: bool,
    limits: Limits,
    count: Callable[[int], object],
) -> None:
    """Write the statements of a source as rows.

    :param namespaces: whether to declare the prefixes of the source, each before the first chunk
        that follows it.
    :param count: called with the number of statements of each chunk.
    """
    writer = RowWriter(format, limits=limits)
    declared: dict[str, str] = {}

    def declare() -> None:
        for prefix, iri in source.namespaces.items() if namespaces else ():
            if declared.get(prefix) != iri:
                out.write(writer.add_prefix(prefix, iri))
                declared[prefix] = iri

    for chunk in source:
        declare()
        # Rows are rewritten as they are.
        if source.has_relative_iris and not isinstance(source, RowsReader):
            reject_relative(chunk.text)
        out.write(writer.add_lines(chunk.text))
        count(chunk.statements)
    declare()


class JenaReader(Closing):
    """Reads a source batch by batch, in generic terms: an iterator of the contents of some rows, as
    a :class:`~jelly_plugins.Frame` with statements and namespaces; and a context manager.

    The parameters, and what is raised: see :class:`RowsReader`; errors while iterating have the
    row.

    >>> with JenaReader(bytes.fromhex("1c180178180475726e3a0000")) as batches:
    ...     [batch.namespaces for batch in batches], batches.prefixes
    ([[('x', Iri(value='urn:'))]], {'x': 'urn:'})
    """

    def __init__(
        self,
        src: Source,
        *,
        format: JenaFormat | str | None = None,  # noqa: A002
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._source = RowsReader(src, format, limits=limits)
        self.name = self._source.name
        self.format = self._source.format
        #: The prefixes that were declared so far, IRI by name.
        self.prefixes = self._source.namespaces
        self._terms = _Terms(GENERIC, limits)
        self._frames = map(self._frame, self._source.texts())

    @property
    def base(self) -> str | None:
        """The base IRI that was declared last. All IRIs are absolute without it."""
        base: str | None = self._source.rows.base
        return base

    def _frame(self, text: bytes) -> AnyFrame:
        frame = Frame(0)
        frame.statements = list(self._statements(text))
        frame.namespaces = [(name, Iri(iri)) for name, iri in self._source.rows.declared]
        return frame

    def _statements(self, text: bytes) -> Iterator[Statement]:
        """The statements of lines in canonical form, term by term: one space is between terms."""
        terms = self._terms
        triple, quad = GENERIC.triple, GENERIC.quad
        for line in text.split(b" .\n")[:-1]:
            subject, predicate, rest = line.split(b" ", 2)
            end = rest.find(b" ", rest.rfind(b'"') + 1)
            if end < 0 and subject != b"<<(":
                yield triple((terms[subject], terms[predicate], terms[rest]))
            elif b"<<(" in line:
                found: Any
                (found,) = terms.parser.statements(line + b" .")
                yield triple(found[:3]) if found[3] is DEFAULT_GRAPH else found
            else:
                graph = terms[rest[end + 1 :]]
                yield quad((terms[subject], terms[predicate], terms[rest[:end]], graph))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> AnyFrame:
        return next(self._frames)

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._source.close()


def read(
    src: Source,
    *,
    format: JenaFormat | str | None = None,  # noqa: A002
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Statement]:
    """Read RDF Thrift or RDF Protobuf as one sequence of statements, in generic terms.

    Blank node labels are kept as they are. A language-tagged string with a base direction has both
    in its language tag, as N-Triples of RDF 1.2 writes them: ``en--ltr``.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: how rows are encoded, as :class:`JenaFormat` or its name; by default detected
        from the source's name or the content.
    :param limits: the limits on untrusted input.
    :return: triples, and quads in named graphs.
    :raises JellyError: while iterating, with source and row.
    :raises ValueError: there is no format of that name.

    >>> from jelly_plugins import Iri, Triple
    >>> import io
    >>> file = io.BytesIO()
    >>> write([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))], file, format="rt")
    1
    >>> list(read(file.getvalue()))
    [Triple(subject=Iri(value='urn:s'), predicate=Iri(value='urn:p'), object=Iri(value='urn:o'))]
    """
    with JenaReader(src, format=format, limits=limits) as batches:
        for batch in batches:
            yield from batch.statements


def write(
    statements: Iterable[tuple[Any, ...]],
    dst: Destination,
    *,
    format: JenaFormat | str | None = None,  # noqa: A002
    namespaces: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write statements in generic terms as RDF Thrift or RDF Protobuf.

    :param statements: triples or quads, also mixed. Quads in the default graph become triples, as
        Apache Jena has them.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: how rows are encoded, as :class:`JenaFormat` or its name; by default detected
        from the destination's name.
    :param namespaces: declarations to write first, IRI by name. In RDF Thrift IRIs are abbreviated
        with them, as Apache Jena does.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output.
    :return: the number of statements.
    :raises ValueError: no format is given, and the name does not indicate one; or there is no
        format of that name.
    :raises JellyError: with the row, if a statement cannot be written.
    """
    form = format_for(dst) if format is None else format_named(format)
    writer = RowWriter(form, limits=limits)
    steps = Steps(progress)
    with open_output(dst) as out:
        out.write(declared(writer, namespaces))
        iterator = iter(statements)
        while batch := list(islice(iterator, BATCH)):
            out.write(_rows_of(writer, batch))
            steps.reach(writer.statements)
        count: int = writer.statements
        steps.end(count)
    return count


def _rows_of(writer: RowWriter, statements: Iterable[Any]) -> bytes:
    """The rows of statements in generic terms, by way of their lines."""
    lines: list[bytes] = []
    first = writer.row
    try:
        for statement in statements:
            terms: Any = terms_of(statement)
            if not 3 <= len(terms) <= 4:
                raise StatementError(f"a statement of {len(terms)} terms")
            lines.append(f"{statement_text(terms, directions=True)}\n".encode())
    except JellyError as error:
        raise error.locate(row=first + len(lines)) from None
    except (AttributeError, IndexError, TypeError, UnicodeError) as error:
        raise TermError(f"not a statement: {error}", row=first + len(lines)) from error
    try:
        rows: bytes = writer.add_lines(b"".join(lines))
    except TextError as error:
        # The lines exist only here.
        raise StatementError(error.message, row=writer.row) from None
    return rows


def declared(writer: RowWriter, prefixes: Mapping[str, str] | None) -> bytes:
    """The rows that a stream opens with."""
    return b"".join(writer.add_prefix(*each) for each in (prefixes or {}).items())


def format_for(dst: Destination) -> JenaFormat:
    """The encoding that a destination's name indicates."""
    found = format_of(dst)
    if found is None:
        raise ValueError(
            f"the name {shown(name_of(dst))} is of neither RDF Thrift nor RDF Protobuf: give format"
        )
    return found

"""Whole files of rows: RDF Thrift and RDF Protobuf to statements and back, in generic terms.

A row has no frame around it, so that an error has the number of its row in the file, from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self

from ..codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    AnyFrame,
    Describe,
    Frame,
    Iri,
    Limits,
    Quad,
    Statement,
    Triple,
    describe,
)
from ..codec.text.ntriples import LineParser
from ..io.progress import Progress, Steps
from ..io.sinks import Destination, open_output
from ..io.sources import Closing, Source, name_of
from ..io.streams import BATCH, GENERIC
from .codec import RowWriter, StatementReader
from .names import JenaFormat, format_named, format_of
from .sources import RowSource
from .terms import Terms, TermWriter


class JenaReader(Closing):
    """Reads a source batch by batch, in generic terms: an iterator of the contents of some rows, as
    a :class:`~jelly_plugins.Frame` with statements and namespaces; and a context manager.

    The parameters, and what is raised: see :class:`RowSource`; errors while iterating have the row.

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
        self._source = RowSource(src, format)
        self.name = self._source.name
        self.format = self._source.format
        #: The prefixes that were declared so far, IRI by name.
        self.prefixes: dict[str, str] = {}
        self._reader = StatementReader(self.format, limits=limits)
        self._terms = Terms(GENERIC, limits)
        self._parser = LineParser(
            relative_iris=True, limits=limits, quads=True, base_directions=True
        )
        self._frames = self._source.batches(self._read, self._reader.end)

    @property
    def base(self) -> str | None:
        """The base IRI that was declared last. All IRIs are absolute without it."""
        base: str | None = self._reader.base
        return base

    def _read(self, data: bytes, at: int) -> tuple[AnyFrame, int]:
        frame = Frame(0)
        first = self._reader.row
        text, stop = self._reader.read_text(data, at)
        frame.statements = list(map(self._statement, text.split(b" .\n")[:-1]))
        for name, iri in self._reader.declared:
            self.prefixes[name] = iri
            frame.namespaces.append((name, Iri(iri)))
        frame.rows = self._reader.row - first
        frame.size = stop - at
        return frame, stop

    def _statement(self, line: bytes) -> Statement:
        """The statement of a line in canonical form, without its end."""
        terms = self._terms
        subject, predicate, rest = line.split(b" ", 2)
        end = rest.find(b" ", rest.rfind(b'"') + 1)
        if b"<<(" in line:
            quad: Any
            (quad,) = self._parser.statements(line + b" .")
            return Triple(*quad[:3]) if quad[3] is DEFAULT_GRAPH else quad
        if end < 0:
            return Triple(terms[subject], terms[predicate], terms[rest])
        return Quad(terms[subject], terms[predicate], terms[rest[:end]], terms[rest[end + 1 :]])

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
    base: str | None = None,
    describe: Describe = describe,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write statements as RDF Thrift or RDF Protobuf.

    :param statements: triples or quads, also mixed. Quads in the default graph become triples, as
        Apache Jena has them.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: how rows are encoded, as :class:`JenaFormat` or its name; by default detected
        from the destination's name.
    :param namespaces: declarations to write first, IRI by name. In RDF Thrift IRIs are abbreviated
        with them, as Apache Jena does.
    :param base: a base IRI to declare, in RDF Protobuf; IRIs are written in full anyway.
    :param describe: takes the statements' terms apart, see ``codec.Describe``.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output.
    :return: the number of statements.
    :raises ValueError: no format is given, and the name does not indicate one; or there is no
        format of that name.
    :raises JellyError: with the row, if a statement cannot be written.
    :raises OptionsError: RDF Thrift has no base IRI.
    """
    form = format_for(dst) if format is None else format_named(format)
    writer = TermWriter(form, describe, limits=limits)
    steps = Steps(progress)
    with open_output(dst) as out:
        out.write(declared(writer, namespaces, base))
        iterator = iter(statements)
        while batch := list(islice(iterator, BATCH)):
            out.write(writer.add(batch))
            steps.reach(writer.statements)
    count: int = writer.statements
    steps.end(count)
    return count


def declared(writer: RowWriter, prefixes: Mapping[str, str] | None, base: str | None) -> bytes:
    """The rows that a stream opens with."""
    rows = [] if base is None else [writer.set_base(base)]
    rows += [writer.add_prefix(name, iri) for name, iri in (prefixes or {}).items()]
    return b"".join(rows)


def format_for(dst: Destination) -> JenaFormat:
    """The encoding that a destination's name indicates.

    :raises ValueError: it does not indicate one.
    """
    found = format_of(dst)
    if found is None:
        raise ValueError(
            f"the name {name_of(dst)!r} is of neither RDF Thrift nor RDF Protobuf: give format"
        )
    return found

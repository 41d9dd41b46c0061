"""Any format to RDF Thrift or RDF Protobuf.

Namespaces of Jelly and prefixes of Jena's formats are always declared, those of text if
``namespaces`` is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

from ..codec import Limits
from ..errors import JellyError
from ..io.names import Format, FormatKind
from ..io.sinks import Destination, open_output
from ..jena.codec import LineEncoder, RowEncoder
from ..jena.names import JenaFormat
from .reading import TextReader, read_sources
from .settings import Given, Job

#: More prefixes than a stream declares.
_UNBOUNDED: Final = 1 << 40


def to_jena(job: Job, dst: Destination, target: Format) -> None:
    """Write sources of any formats as rows.

    :raises JellyError: a source cannot be read, or a statement cannot be written.
    """
    limits = job.settings.limits if job.single else any_prefixes(job.settings.limits)
    with open_output(dst) as out:
        for data in rows_of(job, JenaFormat(target), limits):
            out.write(data)


def any_prefixes(limits: Limits) -> Limits:
    """Limits for rows with the prefixes of text or of several sources, which may be any number."""
    return replace(limits, prefix_table=_UNBOUNDED)


def rows_of(job: Job, target: JenaFormat, limits: Limits) -> Iterator[bytes]:
    """The rows of one source, or of several.

    :param limits: those on the rows.
    """
    if job.single and job.single.format.kind in (FormatKind.LINES, FormatKind.TEXT):
        yield from _rows_of_text(job, job.single, target, limits)
        return
    # Of several sources, some may be Jelly with generalized statements.
    generalized = job.settings.generalized or not job.single
    encoder = RowEncoder(target, generalized=generalized, limits=limits)
    with closing(read_sources(job.given, job.settings, generalized=generalized)) as frames:
        for source, frame in frames:
            try:
                for name, iri in frame.namespaces:
                    yield encoder.add_prefix(name, iri.value)
                if rows := encoder.add(frame.statements):
                    yield rows
            except JellyError as error:
                raise _as_of(source, error) from None
            job.counter.count_left_out(frame)


def _rows_of_text(job: Job, given: Given, target: JenaFormat, limits: Limits) -> Iterator[bytes]:
    """The rows of text, made without terms in between."""
    settings = job.settings
    with TextReader(*given, settings) as text:
        encoder = LineEncoder(
            target,
            quads=given.format.has_graphs,
            dialect=text.dialect,
            generalized=settings.generalized,
            limits=limits,
        )
        #: Prefixes that the encoder has declared.
        declared: list[bytes] = []

        def declare() -> None:
            if settings.namespaces:
                for name, iri in text.new_prefixes().items():
                    declared.append(encoder.rows.add_prefix(name, iri))

        def lines() -> Iterator[bytes]:
            for chunk in text.lines():
                declare()
                yield chunk

        try:
            for rows in encoder.encode(lines()):
                yield from declared
                declared.clear()
                job.counter.reach(encoder.statements)
                yield rows
            declare()
            yield from declared
        except JellyError as error:
            raise _as_of(text.name, text.located(error)) from error.__cause__
    job.counter.reach(encoder.statements)


def _as_of(name: str, error: JellyError) -> JellyError:
    """The error as one of the source: rows of the output say nothing about it."""
    if error.source is None:
        error.row = None
    return error.locate(source=name)

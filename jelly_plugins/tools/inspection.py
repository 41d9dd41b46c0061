"""Report the structure of a Jelly-RDF stream: options, frames, rows by kind, sizes. The stream is
read once and not kept.

Reading is strict, but terms are not built: the report does not need them.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from .. import codec
from ..codec import (
    DEFAULT_LIMITS,
    GenericFactory,
    Limits,
    LogicalType,
    PhysicalType,
    StreamOptions,
)
from ..codec.common.options import logical_name
from ..codec.rdf.rules import Row
from ..formats.convert import open_reader
from ..formats.settings import ConversionSettings, Given, Job
from ..io.sources import Format, Source
from ..io.streams import AnyFrameReader, FrameReader, opens_with_options

#: Namespaces and metadata keys that a report lists; of more it has the number only.
LISTED: Final = 1000


class _Unread(GenericFactory):
    """A factory that returns strings instead of terms."""

    iri: Any = staticmethod(str)
    blank_node: Any = staticmethod(str)

    @staticmethod
    def literal(lex: str, *_: str | None) -> Any:
        return lex


@dataclass(slots=True, kw_only=True)
class FrameReport:
    """One frame.

    :ivar size: bytes, without a delimiter.
    :ivar rows: number of rows by kind (names of ``codec.rdf.rules.Row``), those that occur.
    :ivar graphs: number of graphs that start, in physical type GRAPHS.
    """

    index: int
    size: int
    rows: dict[str, int]
    statements: int
    graphs: int
    namespaces: list[tuple[str, str]]
    metadata: dict[str, bytes]


@dataclass(slots=True, kw_only=True)
class StreamReport:
    """A whole stream, which may be several concatenated ones.

    :ivar options: the stream's options; of several streams the last one's.
    :ivar delimited: whether frames are delimited; otherwise there is one bare frame.
    :ivar size: bytes of the frames, uncompressed and without delimiters.
    :ivar file_size: bytes of the file on disk, None if the source is not a file.
    :ivar restarts: number of frames that are marked as restart points, see ``codec.rdf.restarts``.
    :ivar namespaces: declarations, IRIs by name in order of appearance, at most :data:`LISTED`.
    :ivar metadata: number of frames with a metadata key, by key, at most :data:`LISTED`.
    :ivar unlisted: declarations and keys beyond :data:`LISTED`.
    """

    source: str
    compression: str | None
    options: StreamOptions = field(default_factory=StreamOptions)
    streams: int = 0
    delimited: bool = True
    size: int = 0
    file_size: int | None = None
    frames: int = 0
    empty_frames: int = 0
    restarts: int = 0
    largest_frame: int = 0
    statements: int = 0
    graphs: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    namespaces: dict[str, list[str]] = field(default_factory=dict)
    metadata: dict[str, int] = field(default_factory=dict)
    unlisted: int = 0

    @property
    def bytes_per_statement(self) -> float | None:
        """Uncompressed bytes per statement; None without statements."""
        return self.size / self.statements if self.statements else None


def count_rows(data: bytes) -> Counter[Row]:
    """Count the rows of a frame, which a decoder has accepted, by kind."""
    return Counter({Row(number): count for number, count in codec.count_rows(data).items()})


def inspect(
    src: Source,
    *,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    on_frame: Callable[[FrameReport], object] | None = None,
) -> StreamReport:
    """Read a Jelly-RDF stream and report its structure.

    :param on_frame: called with each frame's report, as soon as the frame was read.

    >>> from jelly_plugins import Iri, Triple
    >>> from jelly_plugins.io.streams import write_bytes
    >>> report = inspect(write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))]))
    >>> report.frames, report.statements, report.rows
    (1, 1, {'OPTIONS': 1, 'TRIPLE': 1, 'NAME': 3, 'PREFIX': 1})
    """
    rows: Counter[Row] = Counter()
    frames: AnyFrameReader = FrameReader(
        src,
        factory=_Unread(),
        limits=limits,
        concatenated=concatenated,
        strict=True,
    )
    with frames:
        report = StreamReport(source=frames.name, compression=frames.compression)
        for frame in frames:
            kinds = count_rows(frames.data)
            found = FrameReport(
                index=frame.index,
                size=frame.size,
                rows=_by_name(kinds),
                statements=len(frame.statements),
                graphs=len(frame.graphs),
                namespaces=frame.namespaces,
                metadata=frame.metadata,
            )
            rows += kinds
            _add(report, found)
            report.restarts += frame.restart
            report.streams += concatenated and opens_with_options(frames.data)
            if on_frame is not None:
                on_frame(found)
        report.options = frames.options
        report.delimited = bool(frames.delimited)
    report.streams = max(report.streams, 1)
    report.rows = _by_name(rows)
    report.file_size = _file_size(src)
    return report


@dataclass(slots=True, kw_only=True)
class TextReport:
    """A source in another format than Jelly."""

    source: str
    format: str
    file_size: int | None = None
    statements: int = 0
    namespaces: dict[str, str] = field(default_factory=dict)


def inspect_text(
    src: Source,
    form: Format,
    *,
    base: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> TextReport:
    """Read a source in a format other than Jelly, and count its statements and prefixes.

    >>> inspect_text(b"@prefix x: <urn:> . x:s a x:o .", Format.TURTLE).namespaces
    {'x': 'urn:'}
    """
    job = Job(settings=ConversionSettings(base=base, limits=limits))
    with open_reader(Given(src, form), job) as reader:
        statements = sum(chunk.statements for chunk in reader)
        return TextReport(
            source=reader.name,
            format=form,
            file_size=_file_size(src),
            statements=statements,
            namespaces=reader.namespaces,
        )


def _by_name(rows: Counter[Row]) -> dict[str, int]:
    return {row.name: rows[row] for row in Row if rows[row]}


def _add(report: StreamReport, frame: FrameReport) -> None:
    report.frames += 1
    report.size += frame.size
    report.empty_frames += not frame.rows
    report.largest_frame = max(report.largest_frame, frame.size)
    report.statements += frame.statements
    report.graphs += frame.graphs
    for name, iri in frame.namespaces:
        iris = report.namespaces.get(name)
        if iris is not None and iri in iris:
            continue
        if sum(map(len, report.namespaces.values())) >= LISTED:
            report.unlisted += 1
        else:
            report.namespaces.setdefault(name, []).append(iri)
    for key in frame.metadata:
        if key in report.metadata or len(report.metadata) < LISTED:
            report.metadata[key] = report.metadata.get(key, 0) + 1
        else:
            report.unlisted += 1


def _file_size(src: Source) -> int | None:
    try:
        if isinstance(src, str | os.PathLike):
            found = os.stat(src)
        elif hasattr(src, "fileno"):
            found = os.fstat(src.fileno())
        else:
            return None
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def options_as_dict(options: StreamOptions) -> dict[str, Any]:
    """Options under the names of RdfStreamOptions, with types by their names."""
    return asdict(options) | {
        "physical_type": PhysicalType(options.physical_type).name,
        "logical_type": logical_name(options.logical_type or LogicalType.UNSPECIFIED),
    }

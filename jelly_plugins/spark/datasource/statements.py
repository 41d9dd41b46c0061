"""The format ``jelly``: Jelly-RDF files, with a row for each statement.

A stream has triples as long as no row has a graph, even if there is a column for graphs, because
readers of triples reject a stream of quads. At the first row with a graph, a task starts a second
stream, of quads.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from math import ceil
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from ...arrow import QUADS, columns, record_batch
from ...codec import (
    ColumnDecoder,
    ColumnEncoder,
    Columns,
    FrameSplitter,
    PhysicalType,
    StreamOptions,
    delimit,
)
from ...codec.common.positions import POSITIONS
from ...errors import JellyError, SourceError
from ...io.sinks import compression_of
from ...io.sources import Input
from ...io.streams import RestartPoint, find_restarts, opens_with_options, other_kind
from .columns import GRAPH, check_written, complete, join_terms
from .files import DataFile, Files
from .options import Settings
from .reading import FileSplit, FileWriter, Format

#: Literals and IRIs, which may contain any text, and the start of a blank node.
_PARTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|_:', re.DOTALL)
#: Number of hexadecimal digits of a file's digest.
_DIGITS: Final = 16


class StreamWriter(FileWriter):
    """Writes one stream."""

    def __init__(self, file: BinaryIO, name: str, schema: pa.Schema, settings: Settings) -> None:
        super().__init__(file, name, schema, settings)
        every = None if settings.get("compression") else settings.get("restartEvery")
        options = _stream_options(settings, GRAPH in schema.names)
        self._encoder = ColumnEncoder(options, restart_every=every or None)

    def add(self, batch: pa.RecordBatch) -> None:
        names = [name for name in POSITIONS if name in batch.schema.names]
        terms = [join_terms(batch.column(name)) for name in names]
        for frame in self._encoder.add(columns(pa.RecordBatch.from_arrays(terms, names=names))):
            self._out.write(delimit(frame))
        self.rows += batch.num_rows

    def finish(self) -> None:
        for frame in self._encoder.finish():
            self._out.write(delimit(frame))
        super().finish()


class Statements(Format):
    suffix = ".jelly"
    writer = StreamWriter

    def split(self, file: DataFile, files: Files, target: int) -> Iterator[tuple[FileSplit, int]]:
        # Splits start at restart points. A compressed file, or one without any, is one split.
        count = ceil(file.size / target)
        if count < 2 or compression_of(file.path) is not None:
            yield FileSplit(file.path), file.size
            return
        starts = [RestartPoint(0, 0)]
        # Errors in the file are reported by the task that reads it.
        with suppress(JellyError), files.open(file.path) as opened:
            # Splits have about equal sizes, so that tasks take about equally long.
            due = 1
            for point in find_restarts(opened):
                if point.offset * count >= due * file.size:
                    starts.append(point)
                    due = point.offset * count // file.size + 1
        for start, after in zip(starts, [*starts[1:], None], strict=True):
            stop = None if after is None else after.offset
            size = (file.size if stop is None else stop) - start.offset
            yield FileSplit(file.path, start.offset, stop, start.frame), size

    def read(
        self, file: BinaryIO, split: FileSplit, settings: Settings, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        relabel = relabelling(split.path) if settings["blankNodes"] == "file" else None
        conditions = settings.conditions
        wanted = {name.lower() for name in schema.names}
        names = [name for name in POSITIONS if name in wanted or name in conditions]
        fields = pa.schema([QUADS.field(name) for name in names])
        splitter = FrameSplitter()
        frames = _frames(file, split, splitter)
        concatenated = settings["concatenated"]
        for found in decode_frames(frames, splitter, split.first_frame, concatenated=concatenated):
            batch = record_batch(found, fields)
            arrays = batch.columns if relabel is None else map(relabel, batch.columns)
            by_name = dict(zip(names, arrays, strict=True))
            if "frame" in wanted and settings["sourceColumns"]:
                numbers = (
                    pa.repeat(pa.scalar(frame, pa.int64()), rows) for frame, rows in found.frames
                )
                by_name["frame"] = pa.concat_arrays(numbers)
            # Without columns, the rows are counted.
            batch = pa.RecordBatch.from_pydict(by_name or {"": pa.nulls(found.rows)})
            for name, term in conditions.items():
                column = batch[name]
                batch = batch.filter(pc.equal(column, term) if term else pc.is_null(column))
            if batch.num_rows:
                yield complete(batch, split.path, schema)

    def check(self, schema: StructType, settings: Settings) -> None:
        check_written(schema)
        ColumnEncoder(_stream_options(settings, True))

    def divide(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = False
        for batch in batches:
            if named or GRAPH not in batch.schema.names:
                yield batch
                continue
            found = pc.index(pc.is_valid(batch[GRAPH]), value=True).as_py()
            if found != 0:
                yield batch.slice(0, None if found < 0 else found).drop_columns([GRAPH])
            if found >= 0:
                named = True
                yield batch.slice(found)


def _stream_options(settings: Settings, graphs: bool) -> StreamOptions:
    kind = PhysicalType.QUADS if graphs else PhysicalType.TRIPLES
    return StreamOptions.flat(kind, **settings.stream_options)


def relabelling(path: str) -> Callable[[pa.Array], pa.Array]:
    """Return a function that gives the blank nodes in a column labels that no other file has.

    >>> relabel = relabelling("a.jelly")
    >>> relabel(pa.array(["_:b", '"_:b"', None])).to_pylist()
    ['_:f0c07f1ba14d9654bb', '"_:b"', None]
    """
    opening = f"_:f{hashlib.sha256(path.encode()).hexdigest()[:_DIGITS]}"

    def quoted(text: str) -> str:
        return _PARTS.sub(lambda found: opening if found[0] == "_:" else found[0], text)

    def relabel(terms: pa.Array) -> pa.Array:
        encoded = terms if pa.types.is_dictionary(terms.type) else terms.dictionary_encode()
        found = encoded.dictionary
        labels = pc.binary_join_element_wise(opening, pc.utf8_slice_codeunits(found, 2), "")
        changed = pc.if_else(pc.starts_with(found, "_:"), labels, found)
        triples = pc.starts_with(found, "<<")
        inner = [quoted(text) for text in found.filter(triples).to_pylist()]
        changed = pc.replace_with_mask(changed, triples, pa.array(inner, changed.type))
        return changed.take(encoded.indices)

    return relabel


# Frames


def decode_frames(
    frames: Iterable[bytes],
    splitter: FrameSplitter,
    first_frame: int = 0,
    *,
    opening: bytes = b"",
    concatenated: bool,
) -> Iterator[Columns]:
    """Decode frames. The rows of frames before a corrupt one are returned first.

    :param splitter: what the frames come from; an error names the format of a source that is not
        Jelly.
    :param opening: a frame with the options of the stream, if the frames do not include them; it is
        not counted.
    :param concatenated: whether options at the start of a frame start a new stream.
    """
    decoder = ColumnDecoder(first_frame=first_frame - bool(opening))
    try:
        if opening:
            yield from decoder.decode(opening)
        for at, frame in enumerate(frames):
            if concatenated and at and opens_with_options(frame):
                yield from decoder.finish()
                decoder = ColumnDecoder(first_frame=decoder.next_frame)
            yield from decoder.decode(frame)
        if decoder.next_frame > first_frame:
            yield from decoder.finish()
    except JellyError:
        yield from decoder.flush()
        if decoder.options is None and (kind := other_kind(splitter.opening)) is not None:
            raise SourceError(f"this is {kind}") from None
        raise


def _frames(file: BinaryIO, split: FileSplit, splitter: FrameSplitter) -> Iterator[bytes]:
    """Read the frames of a split; a file of zero bytes has none, and no rows."""
    left = sys.maxsize if split.stop is None else split.stop - split.start
    if split.start:
        file.seek(split.start)
        splitter.delimited = True
    number = split.first_frame
    data = b""
    try:
        with Input(file) as opened:
            for data in opened.chunks():
                for frame in splitter.feed(data[:left]):
                    yield frame
                    number += 1
                left -= len(data)
                if left <= 0:
                    break
        for frame in splitter.finish() if data else ():
            yield frame
            number += 1
    except JellyError as error:
        # The splitter counts frames from the start of the split.
        error.source, error.frame = split.path, number
        raise

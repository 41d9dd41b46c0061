"""Jelly to Jelly without a store: merge streams, regroup frames, change tables and types.

Frames and their metadata stay as they are unless regrouping is requested. Data that the output
cannot express is rejected, or discarded with ``lossy``; nothing is lost silently.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

from ..codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_GRAPH,
    AnyFrame,
    BlankNode,
    Encoder,
    GenericFactory,
    PhysicalType,
    StreamOptions,
    TermFactory,
)
from ..errors import JellyError, OptionsError, TermError
from ..io.sinks import Destination
from ..io.sources import Source
from ..io.streams import FrameReader, encode_frames, write_jelly
from .settings import DEFAULT_SETTINGS, ConversionSettings, Counter


class ScopedFactory(GenericFactory):
    """Generic terms whose blank node labels carry the number of their stream."""

    def __init__(self, scope: int) -> None:
        self._scope = scope

    def blank_node(self, label: str, /) -> BlankNode:
        return BlankNode(f"s{self._scope}.{label}")


@contextmanager
def _streams(
    sources: Sequence[Source], fresh: bool, reading: dict[str, Any]
) -> Iterator[tuple[list[StreamOptions], Iterator[tuple[str, AnyFrame]]]]:
    """The options of each source, of concatenated streams those of the first; and all frames, in
    generic terms, each with the name of its source.

    A path is opened again when its turn comes, so that few are open at once.
    """
    scopes = count()

    def factory() -> TermFactory[Any]:
        return ScopedFactory(next(scopes)) if fresh else GenericFactory()

    def opened(source: Source) -> FrameReader:
        return FrameReader(source, factory=factory(), next_factory=factory, **reading)

    def frames() -> Iterator[tuple[str, AnyFrame]]:
        for source in waiting:
            with source if isinstance(source, FrameReader) else opened(source) as reader:
                for frame in reader:
                    yield reader.name, frame

    options: list[StreamOptions] = []
    waiting: list[Source | FrameReader] = []
    with ExitStack() as stack:
        for source in sources:
            reader = stack.enter_context(opened(source))
            options.append(reader.options)
            if isinstance(source, str | os.PathLike):
                reader.close()
                waiting.append(source)
            else:
                waiting.append(reader)
        yield options, frames()


def merged_options(options: Sequence[StreamOptions]) -> StreamOptions:
    """Options of one stream that can carry the contents of several streams.

    Quads if any has quads, the larger tables, all features; what the streams do not agree on
    (logical type, name) falls back to a flat stream without a name.
    """
    first = options[0]
    types = {each.physical_type for each in options}
    physical_type = first.physical_type if len(types) == 1 else PhysicalType.QUADS
    agreed = len({each.logical_type for each in options}) == 1 and len(types) == 1
    return StreamOptions(
        physical_type=physical_type,
        logical_type=first.logical_type if agreed else physical_type.flat,
        stream_name=first.stream_name if len({each.stream_name for each in options}) == 1 else "",
        generalized_statements=any(each.generalized_statements for each in options),
        rdf_star=any(each.rdf_star for each in options),
        max_name_table_size=max(each.max_name_table_size for each in options),
        max_prefix_table_size=max(each.max_prefix_table_size for each in options),
        max_datatype_table_size=max(each.max_datatype_table_size for each in options),
        version=max(each.version for each in options),
    )


def transcode(
    sources: Sequence[Source],
    dst: Destination,
    settings: ConversionSettings = DEFAULT_SETTINGS,
    *,
    counter: Counter | None = None,
) -> int:
    """Write one or several Jelly-RDF streams as one, in flat memory.

    :return: the number of statements.
    """
    lossy, limits, delimited = settings.lossy, settings.limits, settings.delimited
    several = len(sources) > 1
    fresh = settings.blank_nodes == "fresh" and (several or settings.concatenated)
    with _streams(sources, fresh, settings.reading) as (found, streams):
        merged = settings.changes.applied(merged_options(found))
        # All frames of a flat stream can be one.
        whole = not delimited and (several or not merged.grouped)
        if (settings.regrouped or whole) and merged.grouped:
            raise OptionsError(
                "frames of a grouped logical type are its elements and cannot be regrouped; "
                "choose a flat logical type"
            )
        counter = counter or Counter()
        adapted = _adapted(streams, merged, counter, settings)
        restarts: dict[str, Any] = {"restart_every": settings.restart_every, "limits": limits}
        if settings.regrouped or whole:
            encoder = Encoder(
                merged,
                frame_rows=settings.frame_rows or limits.frame_rows,
                frame_bytes=settings.frame_bytes
                or (DEFAULT_FRAME_BYTES if delimited else limits.frame_bytes),
                **restarts,
            )
            frames = _regrouped(adapted, encoder, lossy=lossy)
        else:
            frames = encode_frames(adapted, options=merged, **restarts)
        write_jelly(counter.ended(frames), dst, delimited=delimited)
        return counter.statements


def _adapted(
    frames: Iterator[tuple[str, AnyFrame]],
    options: StreamOptions,
    counter: Counter,
    settings: ConversionSettings,
) -> Iterator[AnyFrame]:
    """Frames as the output's physical type requires."""
    for name, frame in frames:
        try:
            adapt(frame, options.physical_type, lossy=settings.lossy)
        except JellyError as error:
            error.locate(source=name, frame=frame.index)
            raise
        if not settings.namespaces:
            frame.namespaces = []
        counter.add(len(frame.statements))
        yield frame


def adapt(frame: AnyFrame, physical_type: PhysicalType, *, lossy: bool) -> None:
    """Change a frame: its statements get as many terms as a physical type has.

    :param lossy: whether to discard empty graphs that the type does not have.
    """
    statements = frame.statements
    if physical_type is not PhysicalType.TRIPLES:
        frame.statements = [
            each if len(each) == 4 else (*each, DEFAULT_GRAPH) for each in statements
        ]
    elif any(len(each) == 4 and each[3] is not DEFAULT_GRAPH for each in statements):
        raise TermError("a quad in a named graph cannot be expressed in physical type TRIPLES")
    else:
        frame.statements = [each[:3] for each in statements]
    if physical_type is not PhysicalType.GRAPHS:
        if frame.empty_graphs and not lossy:
            raise TermError(
                "an empty graph can be expressed in physical type GRAPHS only", frame=frame.index
            )
        frame.empty_graphs = []


def check_metadata(frame: AnyFrame, *, lossy: bool) -> None:
    """Check a frame that becomes a part of other frames."""
    if frame.metadata and not lossy:
        raise OptionsError(
            "metadata belongs to a frame and is lost when frames are regrouped", frame=frame.index
        )


def _regrouped(frames: Iterable[AnyFrame], encoder: Encoder, *, lossy: bool) -> Iterator[bytes]:
    """Encode the contents of frames, in frames of the encoder's own size."""
    for frame in frames:
        check_metadata(frame, lossy=lossy)
        for name, iri in frame.namespaces:
            encoder.add_namespace(name, iri.value)
        yield from encoder.add(frame.statements)
        for graph in frame.empty_graphs:
            encoder.start_graph(graph)
    yield from encoder.finish()

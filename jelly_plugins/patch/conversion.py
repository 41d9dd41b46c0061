"""Logs in one format to logs in another, or to the same format with other options; several to one.

Flat in memory: rows are written as they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from itertools import chain, islice
from typing import Any, Final

from ..codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_LIMITS,
    Limits,
    Operation,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
)
from ..codec.operations import END
from ..sinks import Destination
from ..sources import Source
from .formats import PatchFormat
from .logs import join
from .model import group
from .reader import PatchReader
from .writer import LOOK_AHEAD, infer_options, write_rows

_TABLES: Final = ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOptionChanges:
    """What the options of a Jelly-Patch stream are to be, where the sources do not decide.

    :ivar statement_type: also what text is read as: with TRIPLES, its statements have no graph.
    :ivar generalized_statements: also whether generalized statements are taken from text.
    """

    statement_type: PatchStatementType | None = None
    stream_type: PatchStreamType | None = None
    generalized_statements: bool | None = None
    rdf_star: bool | None = None

    def on(self, options: PatchOptions) -> PatchOptions:
        """Other options, changed."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(options, **{k: v for k, v in named.items() if v is not None})


def convert(
    sources: Sequence[Source],
    dst: Destination,
    *,
    source_format: PatchFormat | None = None,
    target_format: PatchFormat | None = None,
    changes: PatchOptionChanges = PatchOptionChanges(),
    frame_rows: int = DEFAULT_FRAME_ROWS,
    frame_bytes: int = DEFAULT_FRAME_BYTES,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write a log, or several as one, as Jelly-Patch or as RDF Patch text.

    The rows of one log are kept as they are. Several become one log, see
    :func:`~jelly_plugins.patch.logs.join`; labels of blank nodes are kept, as those of one log are.
    A Jelly-Patch stream that is written has the options of those that were read, and where text
    was read, those that its first rows need, see :func:`~jelly_plugins.patch.infer_options`.

    :param sources: paths, URLs, open binary files or bytes.
    :param source_format: by default told by each source's content.
    :param target_format: by default told by the destination's name.
    :param changes: options of the stream written.
    :raises JellyError: a source cannot be read, its patches do not follow one another, or they
        cannot be written in this format or with these options.

    >>> import io
    >>> file = io.BytesIO()
    >>> convert([b"TX . TC .", b"TX . TA ."], file, target_format=PatchFormat.JELLY_PATCH)
    >>> first, second = group(PatchReader(file.getvalue()))
    >>> first.prev is None, second.prev == first.id
    (True, True)
    """
    with ExitStack() as stack:
        readers = [
            stack.enter_context(
                PatchReader(
                    source,
                    format=source_format,
                    statement_type=changes.statement_type or PatchStatementType.QUADS,
                    generalized=bool(changes.generalized_statements),
                    limits=limits,
                )
            )
            for source in sources
        ]
        first = [list(islice(reader, LOOK_AHEAD)) for reader in readers]
        known = [
            reader.options or infer_options(rows)
            for reader, rows in zip(readers, first, strict=True)
        ]
        logs = [chain(rows, reader) for reader, rows in zip(readers, first, strict=True)]
        write_rows(
            logs[0] if len(logs) == 1 else _joined(logs),
            dst,
            format=target_format,
            options=changes.on(_common(known)),
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            limits=limits,
        )


def _joined(logs: Sequence[Iterator[Operation]]) -> Iterator[Operation]:
    # Each log by itself: one that ends inside a patch is not continued by the next.
    for patch in join(chain.from_iterable(map(group, logs))):
        yield from patch.rows()
        yield END


def _common(known: Sequence[PatchOptions]) -> PatchOptions:
    """Options under which everything can be said that can be said under each of some."""
    if len(known) == 1:
        return known[0]
    triples = all(each.statement_type is PatchStatementType.TRIPLES for each in known)
    tables: dict[str, Any] = {name: max(getattr(each, name) for each in known) for name in _TABLES}
    return PatchOptions(
        statement_type=PatchStatementType.TRIPLES if triples else PatchStatementType.QUADS,
        generalized_statements=any(each.generalized_statements for each in known),
        rdf_star=any(each.rdf_star for each in known),
        **tables,
    )

"""Logs in one format to logs in another, or to the same format with other options; several to one.

Flat in memory: rows are written as they are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, Final

from ...codec import (
    DEFAULT_LIMITS,
    Limits,
    PatchOptions,
    PatchStatementType,
)
from ...codec.common.options import TABLES
from ...codec.text.ntriples import Notation
from ...io.sinks import Destination
from ...io.sources import Source
from ..formats import PatchFormat, PatchOptionChanges
from ..model import Patch, group
from ..reader import PatchReader
from ..writer import inferred, rows_of, write_rows
from .editing import Chain

_UNCHANGED: Final = PatchOptionChanges()


def convert(
    sources: Sequence[Source],
    dst: Destination,
    *,
    source_format: PatchFormat | str | None = None,
    target_format: PatchFormat | str | None = None,
    changes: PatchOptionChanges = _UNCHANGED,
    notation: Notation | str = Notation.RDF_1_2,
    strict: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write a log, or several as one, as Jelly-Patch or as RDF Patch text.

    The rows are kept as they are, and labels of blank nodes too. Several logs become one, in their
    order; a patch that names another one before it than the last one with an ``id`` is an error.
    The Jelly-Patch stream written has the options of those read. Text becomes quads, unless
    ``changes`` say that it is triples, in a stream that may have quoted triples if it is longer
    than 1,000 rows.

    :param sources: paths, URLs, open binary files or bytes.
    :param source_format: by default detected from each source's content.
    :param target_format: by default detected from the destination's name.
    :param changes: options of the stream written.
    :param notation: of quoted triples in text.
    :param strict: whether to reject known deviations of other implementations, and
        one patch that would become several in text; see :class:`~jelly_plugins.patch.PatchReader`
        and :func:`~jelly_plugins.patch.write_patches`.
    :raises JellyError: a source cannot be read, its patches do not follow one another, or they
        cannot be written in this format or with these options.

    >>> import io
    >>> file = io.BytesIO()
    >>> logs = [b"H id <urn:1> . Z .", b"D <urn:s> <urn:p> <urn:o> ."]
    >>> convert(logs, file, target_format=PatchFormat.JELLY_PATCH)
    >>> [len(patch.operations) for patch in group(PatchReader(file.getvalue()))]
    [0, 1]
    """
    with ExitStack() as stack:
        readers = [
            stack.enter_context(
                PatchReader(
                    source,
                    format=source_format,
                    statement_type=changes.statement_type or PatchStatementType.QUADS,
                    generalized=bool(changes.generalized_statements),
                    strict=strict,
                    limits=limits,
                )
            )
            for source in sources
        ]
        guessed, logs = zip(*map(inferred, map(iter, readers)), strict=True)
        known = [reader.options or guess for reader, guess in zip(readers, guessed, strict=True)]
        write_rows(
            # Each log by itself: one that ends inside a patch is not continued by the next.
            logs[0]
            if len(logs) == 1
            else rows_of(_following(chain.from_iterable(map(group, logs)))),
            dst,
            format=target_format,
            options=changes.on(_common(known)),
            notation=notation,
            strict=strict,
            limits=limits,
        )


def _following(patches: Iterable[Patch]) -> Iterator[Patch]:
    """Patches that must follow each other."""
    known = Chain()
    for patch in patches:
        known.follow(patch, changes=False)
        yield patch


def _common(known: Sequence[PatchOptions]) -> PatchOptions:
    """Options under which everything can be said that can be said under each of some."""
    if len(known) == 1:
        return known[0]
    triples = all(each.statement_type is PatchStatementType.TRIPLES for each in known)
    tables: dict[str, Any] = {name: max(getattr(each, name) for each in known) for name in TABLES}
    return PatchOptions(
        statement_type=PatchStatementType.TRIPLES if triples else PatchStatementType.QUADS,
        generalized_statements=any(each.generalized_statements for each in known),
        rdf_star=any(each.rdf_star for each in known),
        **tables,
    )

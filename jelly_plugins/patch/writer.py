"""Patches to files: Jelly-Patch, RDF Patch text or binary RDF Patch; from patches or from rows.

Memory use is constant: rows are written one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, TypedDict, Unpack

from ..codec import (
    DEFAULT_GRAPH,
    AnyOperation,
    Describe,
    Kind,
    Limits,
    Namespace,
    Operation,
    OperationKind,
    PatchEncoder,
    PatchOptions,
    PatchStatementType,
    delimit,
    describe,
)
from ..codec import describe as describe_generic
from ..codec.common import positions
from ..codec.common.limits import NESTING_CEILING
from ..codec.common.terms import parts_of, terms_of
from ..codec.patch.operations import END, NAMESPACES, STATEMENTS
from ..codec.text.ntriples import Notation
from ..errors import LimitError, StatementError
from ..io.sinks import Counted, Destination, open_output
from .formats import PatchFormat, format_named, format_of
from .model import Patch, check_patches
from .rows import PatchWriter, WriteSettings
from .text_rows import PatchTextWriter
from .thrift_rows import PatchRowWriter

#: Rows that :func:`infer_options` looks at.
LOOK_AHEAD: Final = 1000
#: Rows that are handed to a serializer at once.
BATCH: Final = 1024


class WriteOptions(TypedDict, total=False):
    """How patches are written, as keyword arguments.

    :ivar describe: takes the terms apart, see ``codec.Describe``; those of ``jelly_plugins`` by
        default.
    :ivar notation: of quoted triples in text.
    :ivar frame_rows: rows of a frame of Jelly-Patch, at most.
    :ivar frame_bytes: bytes of a frame after which it ends.
    :ivar limits: limits on the output.
    """

    describe: Describe
    notation: Notation | str
    frame_rows: int
    frame_bytes: int
    limits: Limits


class JellyWriter(PatchWriter):
    """Writes a Jelly-Patch stream. In one of quads a triple is written as a quad in the default
    graph; in one of triples a quad in the default graph is written as a triple, and any other is
    rejected."""

    def __init__(
        self, options: PatchOptions, settings: WriteSettings, *, continues: bool = False
    ) -> None:
        super().__init__(settings)
        self._takes_quads = options.statement_type is PatchStatementType.QUADS
        self._encoder = PatchEncoder(
            options,
            settings.describe,
            frame_rows=settings.frame_rows,
            frame_bytes=settings.frame_bytes,
            continues=continues,
            limits=settings.limits,
        )

    def write(self, rows: Iterable[AnyOperation]) -> Iterator[bytes]:
        yield from map(delimit, self._encoder.add(map(self._fitting, rows)))

    def add_transaction(
        self, headers: Sequence[tuple[str, Any]], deleted: bytes, added: bytes
    ) -> bytes:
        if not self._takes_quads:
            return super().add_transaction(headers, deleted, added)
        self._parser.begin()
        return b"".join(
            map(delimit, self._encoder.add_patch(headers, deleted, added, self._parser))
        )

    def finish(self) -> bytes:
        return b"".join(map(delimit, self._encoder.finish()))

    def _fitting(self, row: AnyOperation) -> AnyOperation:
        kind, value = row
        quads = self._takes_quads
        if kind in STATEMENTS:
            terms = terms_of(value)
            if quads and len(terms) == 3:
                return Operation(kind, (*terms, DEFAULT_GRAPH))
            if not quads and len(terms) == 4:
                self._check_default(terms[3])
                return Operation(kind, terms[:3])
        elif kind in NAMESPACES and (value[2] is None) is quads:
            if quads:
                return Operation(kind, Namespace(value[0], value[1], DEFAULT_GRAPH))
            self._check_default(value[2])
            return Operation(kind, Namespace(value[0], value[1]))
        return row

    def _check_default(self, graph: Any) -> None:
        if self._describe(graph)[0] != Kind.DEFAULT_GRAPH:
            raise StatementError("a graph is named in a stream of triples")


def patch_writer(
    format: PatchFormat | str = PatchFormat.JELLY_PATCH,  # noqa: A002
    options: PatchOptions | None = None,
    *,
    continues: bool = False,
    **settings: Unpack[WriteOptions],
) -> PatchWriter:
    """Make the writer of a format, for callers that write the bytes themselves. If these continue
    others, the last patch of those must be complete."""
    generalized = options is not None and options.generalized_statements
    known = WriteSettings(**settings, generalized=generalized)
    written = format_named(format)
    if written is PatchFormat.JELLY_PATCH:
        return JellyWriter(options or PatchOptions(), known, continues=continues)
    writer = PatchTextWriter if written is PatchFormat.RDF_PATCH else PatchRowWriter
    return writer(known, continues=continues)


def infer_options(
    rows: Iterable[AnyOperation], describe: Describe = describe, *, more: bool = False
) -> PatchOptions:
    """Options for rows that are known: triples only if there are statements or namespaces and none
    has a graph; quoted triples and generalized statements if there are such. If there may be
    ``more`` rows: quads, as which triples take no more bytes, and quoted triples."""
    triples: bool | None = False if more else None
    needs = {"rdf_star"} if more else set()
    # Generic terms of these types, in these positions, need nothing.
    plain: set[tuple[int, type]] = set()
    for kind, value in rows:
        if kind in STATEMENTS:
            terms = parts_of(value, (3, 4), "a statement")
            triples = triples is not False and len(terms) == 3
            for position, term in enumerate(terms):
                if (position, type(term)) not in plain:
                    found = _needs(position, term, describe)
                    needs |= found
                    if describe is describe_generic and not found:
                        plain.add((position, type(term)))
        elif kind in NAMESPACES:
            triples = triples is not False and value[2] is None
        elif kind is OperationKind.HEADER and describe(value[1])[0] == Kind.TRIPLE:
            needs.add("rdf_star")
    flags: dict[str, Any] = dict.fromkeys(needs, True)
    statement_type = PatchStatementType.TRIPLES if triples else PatchStatementType.QUADS
    return PatchOptions(statement_type=statement_type, **flags)


def inferred(
    rows: Iterator[AnyOperation], describe: Describe = describe
) -> tuple[PatchOptions, Iterator[AnyOperation]]:
    """Options for rows by the first ones, and all the rows."""
    first = list(islice(rows, LOOK_AHEAD))
    return infer_options(first, describe, more=len(first) == LOOK_AHEAD), chain(first, rows)


def _needs(position: int, term: Any, describe: Describe, depth: int = 0) -> set[str]:
    if term is DEFAULT_GRAPH:
        return set() if position == positions.GRAPH else {"generalized_statements"}
    kind, *parts = describe(term)
    option = positions.undeclared(position, kind, generalized=False, rdf_star=True)
    needs = set() if option is None else {option}
    if kind == Kind.TRIPLE:
        if depth == NESTING_CEILING:
            raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")
        inner = (_needs(at, part, describe, depth + 1) for at, part in enumerate(parts))
        needs = needs.union({"rdf_star"}, *inner)
    return needs


def write_rows(
    rows: Iterable[AnyOperation],
    dst: Destination,
    *,
    format: PatchFormat | str | None = None,  # noqa: A002
    options: PatchOptions | None = None,
    **settings: Unpack[WriteOptions],
) -> int:
    """Write rows: operations with headers and the END of each patch among them, as a
    :class:`~jelly_plugins.patch.PatchReader` gives them. See :func:`write_patches`.

    :return: the number of rows.
    """
    format = format_named(format) or format_for(dst)  # noqa: A001
    iterator = iter(rows)
    if options is None and format is PatchFormat.JELLY_PATCH:
        options, iterator = inferred(iterator, settings.get("describe", describe))
    writer = patch_writer(format, options, **settings)
    count = 0
    with open_output(dst) as out:
        while batch := list(islice(iterator, BATCH)):
            count += len(batch)
            for chunk in writer.write(batch):
                out.write(chunk)
        out.write(writer.finish())
    return count


def write_patches(
    patches: Iterable[Patch],
    dst: Destination,
    *,
    format: PatchFormat | str | None = None,  # noqa: A002
    options: PatchOptions | None = None,
    **settings: Unpack[WriteOptions],
) -> int:
    """Write patches as Jelly-Patch or as RDF Patch, text or binary; those that stream are read as
    they go.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: ``"jellyp"``, ``"rdfp"`` or ``"trp"``; by default from the path's ending, and
        Jelly-Patch for any other.
    :param options: of a Jelly-Patch stream. By default it is of type PUNCTUATED, and the patches
        determine the other options: all of them where they are a list and in memory, otherwise the
        first rows, see :func:`infer_options`. RDF Patch has generalized statements only if they are
        declared here.
    :param settings: see :class:`WriteOptions`.
    :return: the number of patches.
    :raises OptionsError: there is no such format or notation.
    :raises JellyError: a patch cannot be written in this format or with these options.
    :raises TypeError: it is one patch, or a path.

    >>> import io
    >>> from jelly_plugins.patch import read_patches
    >>> file = io.BytesIO()
    >>> write_patches(read_patches(b"H id <urn:1> . TX . PA 'ex' <urn:> . TC ."), file)
    1
    >>> [patch.id for patch in read_patches(file.getvalue())]
    [Iri(value='urn:1')]
    """
    check_patches(patches)
    format = format_named(format) or format_for(dst)  # noqa: A001
    known = isinstance(patches, list | tuple) and all(patch.in_memory for patch in patches)
    if known and options is None and format is PatchFormat.JELLY_PATCH:
        options = infer_options(rows_of(patches), settings.get("describe", describe))
    counted = Counted(patches)
    write_rows(rows_of(counted), dst, format=format, options=options, **settings)
    return counted.count


def rows_of(patches: Iterable[Patch]) -> Iterator[AnyOperation]:
    for patch in patches:
        yield from patch.rows()
        yield END


def format_for(dst: Destination) -> PatchFormat:
    named = format_of(os.fspath(dst)) if isinstance(dst, str | os.PathLike) else None
    return named or PatchFormat.JELLY_PATCH

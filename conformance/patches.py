"""Run cases of Jelly-Patch and check the results. ``README.md`` describes the comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    FrameSplitter,
    Literal,
    Operation,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    Quad,
    Triple,
    is_delimited,
)
from jelly_plugins.codec.patch.operations import END
from jelly_plugins.errors import JellyError, TermError
from jelly_plugins.patch import PatchFormat, PatchReader
from jelly_plugins.patch.rows import ReadSettings
from jelly_plugins.patch.text_rows import PatchTextReader
from jelly_plugins.proto import patch_pb2

from .adapters import Adapter, GenericAdapter, convert_row
from .checks import check_rejected, check_same, check_unwritten, options_in
from .manifest import Case
from .outcome import FailedError, InapplicableError

Rows = list[Operation]


def read_patches(case: Case, adapter: Adapter) -> None:
    """Check that a stream has the expected patches, in order."""
    [source] = case.actions
    rows, options = GenericAdapter().read_patches(source)
    if options is None:
        raise FailedError("read without options")
    expected = [_parse(result, options.statement_type) for result in case.results]
    _check_patches(_split(rows), expected)
    if case.delimited is not None and is_delimited(source.read_bytes()[:3]) is not case.delimited:
        raise FailedError(f"delimited is not {case.delimited}")
    if adapter.name == GenericAdapter.name:
        return
    try:
        rows, _ = adapter.read_patches(source)
    except TermError as error:
        raise InapplicableError(error.message) from error
    _check_held(_split(rows), expected, adapter)


def reject_patches(case: Case, adapter: Adapter) -> None:
    """Check that a stream is rejected, at the expected position."""
    check_rejected(case, GenericAdapter().read_patches, adapter.read_patches)


def write_patches(case: Case, adapter: Adapter) -> None:
    """Check that the output has the given options and patches, with the ends that the stream type
    requires.
    """
    options, patches = _task(case)
    try:
        data = _write(patches, options, adapter)
    except TermError as error:
        if adapter.name == GenericAdapter.name:
            raise
        raise InapplicableError(error.message) from error
    with PatchReader(data, format=PatchFormat.JELLY_PATCH) as reader:
        written = _split(reader)
    if reader.options != options:
        raise FailedError(f"the options are {reader.options}, not {options}")
    _check_held(written, patches, adapter)
    _check_frames(data, options, len(patches))


def fail_to_write_patches(case: Case, adapter: Adapter) -> None:
    """Check that invalid patches are not written."""

    def write() -> None:
        options, patches = _task(case)
        _write(patches, options, adapter)

    check_unwritten(write)


def _write(patches: Sequence[Rows], options: PatchOptions, adapter: Adapter) -> bytes:
    return adapter.write_patches(chain.from_iterable([*rows, END] for rows in patches), options)


def _split(rows: Iterable[Operation]) -> list[Rows]:
    """Return the rows of each patch, without its END."""
    patches: list[Rows] = [[]]
    for row in rows:
        if row.kind is OperationKind.END:
            patches.append([])
        else:
            patches[-1].append(row)
    return patches[:-1]


def _parse(path: Path, statement_type: PatchStatementType) -> Rows:
    """Read the rows of one patch from text."""
    reader = PatchTextReader(ReadSettings(statement_type=statement_type, generalized=True))
    try:
        rows = list(chain.from_iterable(reader.batches(path.read_bytes())))
    except JellyError as error:
        raise FailedError(f"the suite's own file cannot be read: {path}: {error}") from error
    if reader.order.inside_transaction:
        raise FailedError(f"the suite's own file ends inside a transaction: {path}")
    # Z may end the patch.
    if rows[-1:] == [END]:
        rows.pop()
    if END in rows:
        raise FailedError(f"the suite's own file has more than one patch: {path}")
    return rows


def _check_patches(found: Sequence[Rows], expected: Sequence[Rows]) -> None:
    """Compare the rows of each patch, with blank nodes mapped over the whole stream."""
    if len(found) != len(expected):
        raise FailedError(f"{len(found)} patches, not {len(expected)}")
    for number, (rows, others) in enumerate(zip(found, expected, strict=True)):
        if len(rows) != len(others):
            raise FailedError(f"patch {number} has {len(rows)} rows, not {len(others)}")
    check_same(*(map(_as_quad, chain.from_iterable(each)) for each in (expected, found)))


def _as_quad(row: Operation) -> Quad:
    """Convert a row to a statement, so that rows can be compared like statements."""
    kind, value = row
    code = Literal(kind.code)
    nothing = Literal("")
    if kind is OperationKind.ADD or kind is OperationKind.DELETE:
        graph = value[3] if len(value) == 4 else DEFAULT_GRAPH
        return Quad(code, Literal(f"{len(value)} terms"), Triple._make(value[:3]), graph)
    if kind is OperationKind.HEADER:
        return Quad(code, Literal(value.key), value.value, DEFAULT_GRAPH)
    if kind is OperationKind.ADD_NAMESPACE or kind is OperationKind.DELETE_NAMESPACE:
        name = Literal(value.name, langtag="no-graph" if value.graph is None else None)
        return Quad(code, name, value.iri or nothing, value.graph or DEFAULT_GRAPH)
    return Quad(code, nothing, nothing, DEFAULT_GRAPH)


def _check_held(found: Sequence[Rows], expected: Sequence[Rows], adapter: Adapter) -> None:
    """Compare output of a library that may store some terms in another form."""
    try:
        _check_patches(found, expected)
    except FailedError:
        if adapter.name == GenericAdapter.name:
            raise
        held = [[convert_row(row, adapter.held) for row in rows] for rows in expected]
        _check_patches(found, held)
        raise InapplicableError(f"{adapter.name} does not hold all terms to the letter") from None


def _check_frames(data: bytes, options: PatchOptions, patches: int) -> None:
    splitter = FrameSplitter()
    frames = [*splitter.feed(data), *splitter.finish()]
    if not splitter.delimited:
        raise FailedError("the frames are not delimited")
    if options.stream_type is PatchStreamType.FRAME and len(frames) != patches:
        raise FailedError(f"{len(frames)} frames for {patches} patches")


def _task(case: Case) -> tuple[PatchOptions, list[Rows]]:
    """Return the options for writing, unchanged, and the rows of each patch."""
    options_file, *inputs = case.actions
    options = options_in(options_file, PatchOptions, patch_pb2.RdfPatchFrame)
    return options, [_parse(path, options.statement_type) for path in inputs]

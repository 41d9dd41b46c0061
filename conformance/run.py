"""Run a case and check the result. ``README.md`` describes the comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

from jelly_plugins.codec import (
    BlankNode,
    DefaultGraph,
    Frame,
    Iri,
    StreamOptions,
)
from jelly_plugins.codec.text.ntriples import Dialect, parse_nquads, parse_ntriples, term_text
from jelly_plugins.errors import JellyError, TermError
from jelly_plugins.io.streams import FrameReader
from jelly_plugins.proto import rdf_pb2

from .adapters import Adapter, GenericAdapter
from .checks import check_rejected, check_same, check_unwritten, options_in
from .manifest import Case, Task
from .outcome import FailedError, InapplicableError, Outcome, Status
from .patches import fail_to_write_patches, read_patches, reject_patches, write_patches
from .results import check_results, reject_results

PASSED = Outcome(Status.PASSED)


def run_case(case: Case, adapter: Adapter) -> Outcome:
    """Run a case.

    Any exception in the tested code is a failure of the case, including exceptions other than
    JellyError.
    """
    try:
        positive, negative = _JUDGES[case.task]
        (positive if case.positive else negative)(case, adapter)
    except InapplicableError as reason:
        return Outcome(Status.INAPPLICABLE, str(reason))
    except FailedError as reason:
        return Outcome(Status.FAILED, str(reason))
    except JellyError as error:
        return Outcome(Status.FAILED, f"rejected: {error}")
    except Exception as error:
        return Outcome(Status.FAILED, f"crashed with {type(error).__name__}: {error}")
    return PASSED


# From Jelly


def _read(case: Case, adapter: Adapter) -> None:
    [source] = case.actions
    expected = [_parse(result) for result in case.results]
    generic = GenericAdapter().read(source)
    _check_frames(generic, expected)
    _check_extras(case, generic, source)
    if adapter.name == GenericAdapter.name:
        return
    try:
        frames = adapter.read(source)
    except TermError as error:
        raise InapplicableError(error.message) from error
    _check_held(frames, expected, adapter)
    _check_same_extras(frames, generic)


def _fail_to_read(case: Case, adapter: Adapter) -> None:
    check_rejected(case, GenericAdapter().read, adapter.read)


def _check_frames(frames: Sequence[Frame], expected: Sequence[Sequence[Any]]) -> None:
    """Compare the statements of each frame, with blank nodes mapped over the whole stream."""
    if len(frames) != len(expected):
        raise FailedError(f"{len(frames)} frames, not {len(expected)}")
    for frame, statements in zip(frames, expected, strict=True):
        if len(frame.statements) != len(statements):
            raise FailedError(
                f"frame {frame.index} has {len(frame.statements)} statements, not {len(statements)}"
            )
        widths = {len(statement) for statement in chain(frame.statements, statements)}
        if len(widths) > 1:
            raise FailedError(f"frame {frame.index} has triples for quads, or quads for triples")
    check_same(*map(chain.from_iterable, (expected, (frame.statements for frame in frames))))


def _check_held(
    frames: Sequence[Frame], expected: Sequence[Sequence[Any]], adapter: Adapter
) -> None:
    """Compare output of a library that may store some terms in another form."""
    try:
        _check_frames(frames, expected)
    except FailedError:
        rewritten: dict[str, str] = {}
        held = [
            [
                tuple(_held(term, adapter, rewritten) for term in statement)
                for statement in statements
            ]
            for statements in expected
        ]
        _check_frames(frames, held)
        before, after = next(iter(rewritten.items()))
        raise InapplicableError(f"{adapter.name} holds {before} as {after}") from None


def _held(term: Any, adapter: Adapter, rewritten: dict[str, str]) -> Any:
    held = adapter.held(term)
    if held != term and not isinstance(term, BlankNode):
        rewritten[term_text(term)] = term_text(held)
    return held


def _check_extras(case: Case, frames: Sequence[Frame], source: Path | None) -> None:
    """Compare the manifest's other data: namespaces, metadata, graphs and framing."""
    found: dict[str, tuple[Any, Any]] = {
        "namespaces": (case.namespaces, _namespaces(frames)),
        "metadata": (
            case.metadata,
            [(frame.index, *entry) for frame in frames for entry in frame.metadata.items()],
        ),
        "graphs": (
            case.graphs,
            [(frame.index, _graph_name(graph)) for frame in frames for graph in frame.graphs],
        ),
    }
    for what, (expected, actual) in found.items():
        if expected is not None and list(expected) != actual:
            raise FailedError(f"{what} are {actual}, not {list(expected)}")
    if case.delimited is not None and source is not None:
        with FrameReader(str(source), strict=True) as reader:
            list(reader)
            if reader.delimited is not case.delimited:
                raise FailedError(f"delimited is {reader.delimited}, not {case.delimited}")


def _namespaces(frames: Sequence[Frame]) -> list[tuple[int, str, str]]:
    return [(frame.index, name, iri.value) for frame in frames for name, iri in frame.namespaces]


def _graph_name(graph: Any) -> str:
    if isinstance(graph, Iri):
        return graph.value
    return "" if isinstance(graph, DefaultGraph) else term_text(graph)


def _check_same_extras(frames: Sequence[Frame], generic: Sequence[Frame]) -> None:
    for frame, other in zip(frames, generic, strict=True):
        if (frame.namespaces, frame.metadata) != (other.namespaces, other.metadata):
            raise FailedError(f"namespaces or metadata of frame {frame.index} differ")


def _parse(path: Path) -> list[Any]:
    """Read the statements of a file, with any kind of terms."""
    parser = parse_nquads if path.suffix == ".nq" else parse_ntriples
    try:
        return list(
            parser(
                path.read_bytes(), dialect=Dialect.RDF_STAR, generalized=True, relative_iris=True
            )
        )
    except JellyError as error:
        raise FailedError(f"the suite's own file cannot be read: {path}: {error}") from error


# To Jelly


def _write(case: Case, adapter: Adapter) -> None:
    options, frames = _task(case)
    try:
        data = adapter.write(frames, options, bool(case.namespaces))
    except TermError as error:
        if adapter.name == GenericAdapter.name:
            raise
        raise InapplicableError(error.message) from error
    with FrameReader(data) as reader:
        written = list(reader)
        if reader.options != options:
            raise FailedError(f"the options are {reader.options}, not {options}")
        if not reader.delimited:
            raise FailedError("the frames are not delimited")
    _check_held(written, [frame.statements for frame in frames], adapter)
    _check_extras(case, written, None)


def _fail_to_write(case: Case, adapter: Adapter) -> None:
    def write() -> None:
        options, frames = _task(case)
        adapter.write(frames, options, bool(case.namespaces))

    check_unwritten(write)


def _task(case: Case) -> tuple[StreamOptions, list[Frame]]:
    """Return the options for writing, unchanged, and the contents of each frame."""
    options_file, *inputs = case.actions
    frames = [Frame(index, statements=_parse(path)) for index, path in enumerate(inputs)]
    for index, name, iri in case.namespaces or ():
        frames[index].namespaces.append((name, Iri(iri)))
    for index, key, value in case.metadata or ():
        frames[index].metadata[key] = value
    return options_in(options_file, StreamOptions, rdf_pb2.RdfStreamFrame), frames


_Judge: TypeAlias = Callable[[Case, Adapter], None]

#: Functions that check the positive and the negative cases of each task.
_JUDGES: Final[dict[Task, tuple[_Judge, _Judge]]] = {
    Task.FROM_JELLY: (_read, _fail_to_read),
    Task.TO_JELLY: (_write, _fail_to_write),
    Task.PATCH_FROM_JELLY: (read_patches, reject_patches),
    Task.PATCH_TO_JELLY: (write_patches, fail_to_write_patches),
    Task.RESULTS_FROM_JELLY: (check_results, reject_results),
}

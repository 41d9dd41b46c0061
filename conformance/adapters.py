"""Adapters to run a suite with the codec's own terms or those of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Protocol

from jelly_plugins.backends import Backend, get_backend
from jelly_plugins.codec import (
    Frame,
    GenericFactory,
    Header,
    Namespace,
    Operation,
    OperationKind,
    PatchEncoder,
    PatchOptions,
    StreamOptions,
    delimit,
)
from jelly_plugins.codec.common.terms import convert
from jelly_plugins.errors import MissingExtraError
from jelly_plugins.io.streams import FrameReader, encode_frames
from jelly_plugins.patch import PatchFormat, PatchReader

_STATEMENTS: Final = (OperationKind.ADD, OperationKind.DELETE)


class Adapter(Protocol):
    """Reads and writes streams with a library's terms; accepts and returns generic ones."""

    @property
    def name(self) -> str: ...

    def read(self, path: Path) -> list[Frame]:
        """Read a stream.

        :raises JellyError: the stream is rejected.
        """
        ...

    def write(self, frames: Iterable[Frame], options: StreamOptions, namespaces: bool) -> bytes:
        """Write a delimited stream.

        :raises JellyError: the stream cannot be written.
        """
        ...

    def read_patches(self, path: Path) -> tuple[list[Operation], PatchOptions | None]:
        """Read a Jelly-Patch stream: its rows, with the END of each patch, and its options.

        :raises JellyError: the stream is rejected.
        """
        ...

    def write_patches(self, rows: Iterable[Operation], options: PatchOptions) -> bytes:
        """Write a delimited Jelly-Patch stream.

        :raises JellyError: the stream cannot be written.
        """
        ...

    def held(self, term: Any) -> Any:
        """Return a term as the library stores it, which may differ in form.

        :raises TermError: the library cannot store the term.
        """
        ...


class GenericAdapter:
    """An adapter for the codec's own terms."""

    name: Final = "generic"

    def read(self, path: Path) -> list[Frame]:
        with FrameReader(str(path), strict=True) as reader:
            return list(reader)

    def write(self, frames: Iterable[Frame], options: StreamOptions, namespaces: bool) -> bytes:
        encoded = encode_frames(frames, options=options, namespaces=namespaces)
        return b"".join(map(delimit, encoded))

    def read_patches(self, path: Path) -> tuple[list[Operation], PatchOptions | None]:
        with PatchReader(str(path), format=PatchFormat.JELLY_PATCH, strict=True) as reader:
            return list(reader), reader.options

    def write_patches(self, rows: Iterable[Operation], options: PatchOptions) -> bytes:
        return _encode_patches(PatchEncoder(options), rows)

    def held(self, term: Any) -> Any:
        return term


class BackendAdapter:
    """An adapter for a backend's terms, keeping blank node labels."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name = backend.name

    def read(self, path: Path) -> list[Frame]:
        factory = _Tuples(self._backend.factory(blank_nodes="keep"))
        with FrameReader(str(path), factory=factory, strict=True) as reader:
            return [_convert(frame, self._generic) for frame in reader]

    def write(self, frames: Iterable[Frame], options: StreamOptions, namespaces: bool) -> bytes:
        factory = _Tuples(self._backend.factory(blank_nodes="keep"))
        encoded = encode_frames(
            (_convert(frame, lambda term: convert(term, factory), factory) for frame in frames),
            options=options,
            describe=self._backend.describe,
            namespaces=namespaces,
        )
        return b"".join(map(delimit, encoded))

    def read_patches(self, path: Path) -> tuple[list[Operation], PatchOptions | None]:
        factory = _Tuples(self._backend.factory(blank_nodes="keep"))
        with PatchReader(
            str(path), format=PatchFormat.JELLY_PATCH, factory=factory, strict=True
        ) as reader:
            return [convert_row(row, self._generic) for row in reader], reader.options

    def write_patches(self, rows: Iterable[Operation], options: PatchOptions) -> bytes:
        factory = _Tuples(self._backend.factory(blank_nodes="keep"))
        converted = [convert_row(row, lambda term: convert(term, factory)) for row in rows]
        for kind, value in converted:
            if kind in _STATEMENTS:
                (factory.triple if len(value) == 3 else factory.quad)(value)
        return _encode_patches(PatchEncoder(options, self._backend.describe), converted)

    def held(self, term: Any) -> Any:
        return self._generic(convert(term, self._backend.factory(blank_nodes="keep")))

    def _generic(self, term: Any) -> Any:
        return convert(term, GenericFactory(), self._backend.describe)


class _Tuples:
    """A backend's factory whose statements are tuples. The backend makes its own statements first,
    and may reject them.
    """

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._factory, name)

    def triple(self, terms: tuple[Any, ...], /) -> Any:
        self._factory.triple(terms)
        return terms

    def quad(self, terms: tuple[Any, ...], /) -> Any:
        self._factory.quad(terms)
        return terms


def _convert(frame: Frame, change: Callable[[Any], Any], factory: _Tuples | None = None) -> Frame:
    """Convert the terms of a frame; ``factory`` may reject the resulting statements."""
    statements = [tuple(map(change, statement)) for statement in frame.statements]
    if factory is not None:
        for statement in statements:
            (factory.triple if len(statement) == 3 else factory.quad)(statement)
    return Frame(
        frame.index,
        statements=statements,
        namespaces=[(name, change(iri)) for name, iri in frame.namespaces],
        graphs=[change(graph) for graph in frame.graphs],
        empty_graphs=[change(graph) for graph in frame.empty_graphs],
        metadata=frame.metadata,
        rows=frame.rows,
        size=frame.size,
    )


def convert_row(row: Operation, change: Callable[[Any], Any]) -> Operation:
    """Convert the terms of a patch's row; its statement becomes a tuple."""
    kind, value = row
    if kind in _STATEMENTS:
        return Operation(kind, tuple(map(change, value)))
    if kind is OperationKind.HEADER:
        return Operation(kind, Header(value.key, change(value.value)))
    if value is None:
        return row
    iri, graph = (None if term is None else change(term) for term in value[1:])
    return Operation(kind, Namespace(value.name, iri, graph))


def _encode_patches(encoder: PatchEncoder, rows: Iterable[Operation]) -> bytes:
    return b"".join(map(delimit, [*encoder.add(rows), *encoder.finish()]))


def get_adapter(name: str) -> Adapter:
    """Return an adapter by name: ``generic``, or the name of a backend.

    :raises MissingExtraError: the backend is not installed.
    """
    if name == GenericAdapter.name:
        return GenericAdapter()
    try:
        return BackendAdapter(get_backend(name))
    except KeyError:
        raise MissingExtraError(
            f"backend {name} is not installed: pip install 'jelly-plugins[{name}]'"
        ) from None

"""Adapters to run a suite with the codec's own terms or those of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Protocol

from jelly_plugins.backends import Backend, get_backend
from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    DefaultGraph,
    Frame,
    Header,
    Iri,
    Kind,
    Literal,
    Namespace,
    Operation,
    OperationKind,
    PatchEncoder,
    PatchOptions,
    StreamOptions,
    Triple,
    delimit,
)
from jelly_plugins.errors import JellyError, MissingExtraError, TermError
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
            (_convert(frame, lambda term: _build(factory, term), factory) for frame in frames),
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
        converted = [convert_row(row, lambda term: _build(factory, term)) for row in rows]
        for kind, value in converted:
            if kind in _STATEMENTS:
                (factory.triple if len(value) == 3 else factory.quad)(value)
        return _encode_patches(PatchEncoder(options, self._backend.describe), converted)

    def held(self, term: Any) -> Any:
        return self._generic(_build(self._backend.factory(blank_nodes="keep"), term))

    def _generic(self, term: Any) -> Any:
        kind, *parts = self._backend.describe(term)
        if kind == Kind.IRI:
            return Iri(*parts)
        if kind == Kind.BLANK_NODE:
            return BlankNode(*parts)
        if kind == Kind.LITERAL:
            return Literal(*parts)
        if kind == Kind.TRIPLE:
            return Triple(*map(self._generic, parts))
        return DEFAULT_GRAPH


class _Tuples:
    """A backend's factory whose statements are tuples. The backend makes its own statements first,
    and may reject them.
    """

    def __init__(self, factory: Any) -> None:
        self._factory = factory
        self.default_graph = factory.default_graph
        self.iri = factory.iri
        self.blank_node = factory.blank_node
        self.literal = factory.literal
        self.quoted_triple = factory.quoted_triple
        self.check_graph = factory.check_graph

    def triple(self, terms: tuple[Any, ...], /) -> Any:
        self._factory.triple(terms)
        return terms

    def quad(self, terms: tuple[Any, ...], /) -> Any:
        self._factory.quad(terms)
        return terms


def _build(factory: Any, term: Any) -> Any:
    """Convert a generic term or statement with a factory."""
    try:
        if isinstance(term, Iri):
            return factory.iri(term.value)
        if isinstance(term, BlankNode):
            return factory.blank_node(term.label)
        if isinstance(term, Literal):
            return factory.literal(term.lex, term.langtag, term.datatype)
        if isinstance(term, DefaultGraph):
            return factory.default_graph
        return factory.quoted_triple(*(_build(factory, part) for part in term))
    except JellyError:
        raise
    except ValueError as error:
        raise TermError(str(error)) from error


def _convert(frame: Frame, convert: Callable[[Any], Any], factory: _Tuples | None = None) -> Frame:
    """Convert the terms of a frame; ``factory`` may reject the resulting statements."""
    statements = [tuple(map(convert, statement)) for statement in frame.statements]
    if factory is not None:
        for statement in statements:
            (factory.triple if len(statement) == 3 else factory.quad)(statement)
    return Frame(
        frame.index,
        statements=statements,
        namespaces=[(name, convert(iri)) for name, iri in frame.namespaces],
        graphs=[convert(graph) for graph in frame.graphs],
        empty_graphs=[convert(graph) for graph in frame.empty_graphs],
        metadata=frame.metadata,
        rows=frame.rows,
        size=frame.size,
    )


def convert_row(row: Operation, convert: Callable[[Any], Any]) -> Operation:
    """Convert the terms of a patch's row; its statement becomes a tuple."""
    kind, value = row
    if kind in _STATEMENTS:
        return Operation(kind, tuple(map(convert, value)))
    if kind is OperationKind.HEADER:
        return Operation(kind, Header(value.key, convert(value.value)))
    if value is None:
        return row
    iri, graph = (None if term is None else convert(term) for term in value[1:])
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

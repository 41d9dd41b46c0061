"""The kernels and formats that the codec's tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    Frame,
    GenericFactory,
    Limits,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PhysicalType,
    StreamOptions,
)
from jelly_plugins.codec.patch.operations import END, add

from . import patch_wire, wire_builder

#: By class: the module of the reference.
_REFERENCES = {
    "Decoder": "rdf.decoder",
    "Encoder": "rdf.encoder",
    "ColumnDecoder": "text.columns",
    "ColumnEncoder": "text.columns",
    "TextDecoder": "text.transcoding",
    "TextEncoder": "text.transcoding",
    "PatchDecoder": "patch.decoder",
    "PatchEncoder": "patch.encoder",
    "PatchColumnDecoder": "patch.columns",
}


class Kernel:
    """One implementation of the codec, "python" or "native", with its classes as attributes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name not in _REFERENCES:
            raise AttributeError(name)
        module = "_native" if self.name == "native" else _REFERENCES[name]
        return getattr(import_module(f"jelly_plugins.codec.{module}"), name)

    def decode(
        self,
        *frames: bytes,
        limits: Limits = DEFAULT_LIMITS,
        factory: Any = None,
    ) -> list[Frame]:
        """Decode a whole stream."""
        decoder = self.Decoder(factory or GenericFactory(), limits=limits)
        decoded = [decoder.decode(data) for data in frames]
        decoder.finish()
        return decoded

    def statements(self, *frames: bytes, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
        """Return all statements of a whole stream."""
        return [
            statement
            for frame in self.decode(*frames, limits=limits)
            for statement in frame.statements
        ]

    def encode(
        self, statements: Iterable[Any], options: StreamOptions | None = None, **settings: Any
    ) -> list[bytes]:
        """Return the frames of a whole stream."""
        encoder = self.Encoder(options or StreamOptions(), **settings)
        return [*encoder.add(statements), *encoder.finish()]

    def operations(self, *frames: bytes, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
        """Return all operations of a whole stream of Jelly-Patch."""
        decoder = self.PatchDecoder(GenericFactory(), limits=limits)
        found = [each for data in frames for each in decoder.decode(data).operations]
        return [*found, *decoder.finish()]

    def encode_patches(
        self, operations: Iterable[Any], options: PatchOptions | None = None, **settings: Any
    ) -> list[bytes]:
        """Return the frames of a whole stream of Jelly-Patch."""
        encoder = self.PatchEncoder(options or PatchOptions(), **settings)
        return [*encoder.add(operations), *encoder.finish()]


def load_kernel(name: str) -> Kernel:
    """Return a kernel by name."""
    if name == "native":
        pytest.importorskip(
            "jelly_plugins.codec._native",
            reason="the compiled kernel is not built",
            exc_type=ImportError,
        )
    return Kernel(name)


@pytest.fixture(params=["python", "native"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Provide each kernel in turn."""
    return load_kernel(request.param)


class Format(NamedTuple):
    """A format of rows, for the rules that both have.

    :ivar wire: the module that builds its streams.
    :ivar options: makes a row of options, of a stream of triples or ``quads``.
    :ivar triple: makes a row of a triple, and ``quad`` one of a quad.
    """

    name: str
    wire: Any
    options: Callable[..., bytes]
    triple: Callable[..., bytes]
    quad: Callable[..., bytes]

    def statements(
        self, kernel: Kernel, *frames: bytes, limits: Limits = DEFAULT_LIMITS
    ) -> list[Any]:
        """Read the statements of a whole stream."""
        if self.name == "rdf":
            return kernel.statements(*frames, limits=limits)
        rows = kernel.operations(*frames, limits=limits)
        return [value for kind, value in rows if kind is OperationKind.ADD]

    def encoder(self, kernel: Kernel, *, quads: bool = False, **settings: Any) -> Any:
        """Make an encoder; ``settings`` are options, and its ``limits``."""
        limits = settings.pop("limits", DEFAULT_LIMITS)
        if self.name == "rdf":
            physical = PhysicalType.QUADS if quads else PhysicalType.TRIPLES
            options = StreamOptions(physical_type=physical, **settings)
            return kernel.Encoder(options, limits=limits)
        statement = PatchStatementType.QUADS if quads else PatchStatementType.TRIPLES
        return kernel.PatchEncoder(
            PatchOptions(statement_type=statement, **settings), limits=limits
        )

    def add(self, encoder: Any, statements: Iterable[Any]) -> list[bytes]:
        """Write statements."""
        found: list[bytes] = encoder.add(
            statements if self.name == "rdf" else [add(each) for each in statements]
        )
        return found

    def finish(self, encoder: Any) -> list[bytes]:
        """Return the last frames of a stream."""
        return [*([] if self.name == "rdf" else encoder.add([END])), *encoder.finish()]


def _rdf_options(*, quads: bool = False, **declared: Any) -> bytes:
    w = wire_builder
    return w.options(w.QUADS if quads else w.TRIPLES, **declared)


def _patch_options(*, quads: bool = False, **declared: Any) -> bytes:
    w = patch_wire
    return w.options(w.FRAME, w.QUADS if quads else w.TRIPLES, **declared)


FORMATS = (
    Format("rdf", wire_builder, _rdf_options, wire_builder.triple, wire_builder.quad),
    Format("patch", patch_wire, _patch_options, patch_wire.add, patch_wire.add),
)


@pytest.fixture(params=FORMATS, ids=lambda format_: format_.name)
def format_(request: pytest.FixtureRequest) -> Format:
    """Provide each format in turn."""
    found: Format = request.param
    return found

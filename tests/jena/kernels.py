"""The two kernels, with helpers to read and write whole streams."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from jelly_plugins.codec import DEFAULT_LIMITS, GenericFactory, Limits
from jelly_plugins.errors import JellyError
from jelly_plugins.jena.names import JenaFormat
from jelly_plugins.jena.streams import batches

#: Modules of the decoder, the decoder to text, the encoder, and the encoder of lines.
KERNELS = {
    "python": tuple(f"jelly_plugins.jena.{name}" for name in ("reader", "text", "writer", "text")),
    "native": ("jelly_plugins.jena._native",) * 4,
}


class Kernel(NamedTuple):
    """One implementation of the codec of rows."""

    name: str
    RowDecoder: Any
    RowTextDecoder: Any
    RowEncoder: Any
    LineEncoder: Any

    def read(
        self,
        data: bytes,
        format: JenaFormat,  # noqa: A002
        *,
        factory: Any = None,
        size: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
        **settings: Any,
    ) -> list[Any]:
        """Return all statements of rows, read in chunks of ``size`` bytes."""
        decoder = self.RowDecoder(factory or GenericFactory(), format, limits=limits, **settings)
        read = batches(chunks(data, size), decoder.decode, decoder.finish)
        return [statement for batch in read for statement in batch.statements]

    def text(
        self,
        data: bytes,
        format: JenaFormat,  # noqa: A002
        *,
        size: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
        **settings: Any,
    ) -> bytes:
        """Return all lines of rows."""
        decoder = self.RowTextDecoder(format, limits=limits, **settings)
        return b"".join(batches(chunks(data, size), decoder.decode_text, decoder.finish))

    def lines(self, text: bytes, format: JenaFormat, *, quads: bool, **settings: Any) -> bytes:  # noqa: A002
        """Return the rows of lines."""
        return b"".join(self.LineEncoder(format, quads=quads, **settings).encode(text))


def load_kernel(name: str) -> Kernel:
    """Return a kernel by name."""
    names = ("RowDecoder", "RowTextDecoder", "RowEncoder", "LineEncoder")
    found = [
        getattr(import_module(module), each)
        for module, each in zip(KERNELS[name], names, strict=True)
    ]
    return Kernel(name, *found)


def chunks(data: bytes, size: int | None) -> list[bytes]:
    """Split bytes into chunks of a size; None for a single chunk."""
    size = size or len(data) or 1
    return [data[at : at + size] for at in range(0, len(data), size)]


def outcome(call: Any, *arguments: Any, **settings: Any) -> Any:
    """Return the result of a call, or the type and message of its error."""
    try:
        return call(*arguments, **settings)
    except JellyError as error:
        return type(error).__name__, str(error)

"""The kernels that the codec's tests run on, and helpers to read and write with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from jelly_plugins.codec import DEFAULT_LIMITS, Frame, GenericFactory, Limits, StreamOptions

#: By kernel: the module of Decoder, the module of Encoder, and the module of the column classes.
KERNELS = {
    "python": tuple(
        f"jelly_plugins.codec.{name}" for name in ("rdf.decoder", "rdf.encoder", "text.columns")
    ),
    "native": ("jelly_plugins.codec._native",) * 3,
}


class Kernel(NamedTuple):
    """One implementation of the codec."""

    name: str
    Decoder: Any
    Encoder: Any
    ColumnDecoder: Any
    ColumnEncoder: Any

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


def load_kernel(name: str) -> Kernel:
    """Return a kernel by name."""
    decoder, encoder, columns = map(import_module, _modules(name))
    return Kernel(
        name, decoder.Decoder, encoder.Encoder, columns.ColumnDecoder, columns.ColumnEncoder
    )


def _modules(name: str) -> tuple[str, ...]:
    modules = KERNELS[name]
    if name == "native":
        pytest.importorskip(
            modules[0], reason="the compiled kernel is not built", exc_type=ImportError
        )
    return modules


@pytest.fixture(params=list(KERNELS))
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Provide each kernel in turn."""
    return load_kernel(request.param)


#: Modules outside the tests that import a Jelly-Patch codec by name.
_PATCH_USERS = ("jelly_plugins.patch.reader", "jelly_plugins.patch.writer")


@pytest.fixture(scope="module", params=list(KERNELS))
def patch_kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Provide each kernel in turn, as the PatchDecoder and PatchEncoder of all modules that use
    them.
    """
    load_kernel(request.param)
    found = {}
    for name, reference in (("PatchDecoder", "patch.decoder"), ("PatchEncoder", "patch.encoder")):
        module = "_native" if request.param == "native" else reference
        found[name] = getattr(import_module(f"jelly_plugins.codec.{module}"), name)
    with pytest.MonkeyPatch.context() as patched:
        for user in (request.module, *map(import_module, _PATCH_USERS)):
            for name, cls in found.items():
                patched.setattr(user, name, cls, raising=False)
        yield request.param

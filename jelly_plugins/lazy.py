"""Imports on first use: public names of packages, optional libraries, the kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def pure_python() -> bool:
    """Whether the environment disables the compiled kernels."""
    return os.environ.get("JELLY_PURE_PYTHON", "0") not in ("", "0")


def has_kernel() -> bool:
    """Whether the compiled kernel is installed and not disabled, without importing it."""
    from importlib.machinery import EXTENSION_SUFFIXES

    path = os.path.join(os.path.dirname(__file__), "codec", "_native")
    return not pure_python() and any(os.path.exists(path + each) for each in EXTENSION_SUFFIXES)


def library(name: str, user: str, extra: str) -> Any:
    """Import an optional library in a function. A module that cannot do without one imports it at
    its top, and raises :class:`.errors.MissingExtraError` itself.
    """
    try:
        # Calls for each document find what the first one has imported.
        return sys.modules.get(name) or import_module(name)
    except ImportError:
        from .errors import MissingExtraError

        raise MissingExtraError.of(f"{user} needs a library", extra) from None


def attributes(
    package: str, names: Sequence[str], modules: Sequence[str] | Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package has as ``__getattr__`` and ``__dir__`` (PEP 562) so that its names are
    imported when they are first used. Type checkers see an import instead, under
    ``TYPE_CHECKING``.

    :param modules: modules of the package that have these names, in the order in which they are
        looked into; or the names that each has, so that no other one is imported.
    """

    def get(name: str) -> Any:
        if name in names:
            for module in modules:
                if isinstance(modules, Mapping) and name not in modules[module]:
                    continue
                found = vars(import_module(f"{package}.{module}"))
                if name in found:
                    setattr(sys.modules[package], name, found[name])
                    return found[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return get, listed

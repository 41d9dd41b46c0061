"""What the package writes, as bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from jelly_plugins import convert


def written(write: Callable[..., object], *given: Any, **settings: Any) -> bytes:
    """Return what a function writes to its last argument."""
    out = io.BytesIO()
    write(*given, out, **settings)
    return out.getvalue()


def converted(sources: Any, source: Any, target: Any, **settings: Any) -> bytes:
    """Return what :func:`jelly_plugins.convert` writes."""
    return written(convert, sources, source_format=source, target_format=target, **settings)

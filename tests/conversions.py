"""Convert bytes from one format to another."""

from __future__ import annotations

import io
from typing import Any

from jelly_plugins import convert


def converted(sources: Any, source: Any, target: Any, **settings: Any) -> bytes:
    """Return what :func:`jelly_plugins.convert` writes."""
    out = io.BytesIO()
    convert(sources, out, source_format=source, target_format=target, **settings)
    return out.getvalue()

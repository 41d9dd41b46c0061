"""Says what is missing, where what a sharded store is looked at with is."""

from __future__ import annotations

from ...errors import MissingExtraError

try:
    import numpy  # noqa: F401
    import pyarrow  # noqa: F401
    import xxhash  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        f"what sharded stores need is missing ({error}): pip install 'jelly-plugins[spark]'"
    ) from error

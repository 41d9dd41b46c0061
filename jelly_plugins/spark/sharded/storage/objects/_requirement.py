"""Says what is missing, where what object stores are asked with is."""

from __future__ import annotations

from .....errors import MissingExtraError

try:
    import obstore  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        f"what roots in object stores need is missing ({error}): "
        "pip install 'jelly-plugins[spark,objects]'"
    ) from error

"""Roots in object stores: buckets, with a cache of what they have on each machine.

``client`` asks an object store, ``connecting`` says which and with what settings; ``cache`` keeps
the files of stores, and ``transfer`` brings them here and there; ``staged`` is operations on their
way. ``storage`` is all of that as a :class:`~..interface.Storage`.
"""

from __future__ import annotations

from .....errors import MissingExtraError

try:
    import obstore as _obstore  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        f"roots in object stores need a library ({error}): "
        "pip install 'jelly-plugins[spark,objects]'"
    ) from error

from .storage import ObjectStorage

__all__ = ["ObjectStorage"]

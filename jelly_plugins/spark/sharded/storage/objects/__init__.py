"""Roots in object stores: buckets, with a cache of their files on each machine.

``client`` accesses an object store, and ``connecting`` creates its connection from a URL and
settings; ``cache`` keeps the files of stores, and ``transfer`` copies them to and from a bucket;
``staged`` has staged operations. ``storage`` combines them as a :class:`~..interface.Storage`.
"""

from __future__ import annotations

from .....errors import MissingExtraError

try:
    import obstore as _obstore  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        f"roots in object stores need a library ({error}): pip install "
        "'jelly-plugins[spark,objects]', or in a checkout pip install '.[spark,objects]'"
    ) from error

from .storage import ObjectStorage

__all__ = ["ObjectStorage"]

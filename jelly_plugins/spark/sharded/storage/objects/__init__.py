"""Roots in object stores: buckets, with a cache of what they have on each machine.

``client`` asks an object store, ``connecting`` says which and with what settings; ``lists`` is what
files a store of a shard has and in which objects they are; ``cache`` keeps those files, and
``fetching`` and ``uploading`` bring them here and there; ``staged`` is operations on their way.
``storage`` is all of that as a :class:`~..interface.Storage`.
"""

from __future__ import annotations

from . import _requirement  # noqa: F401  (first: it says what to install)
from .storage import ObjectStorage

__all__ = ["ObjectStorage"]

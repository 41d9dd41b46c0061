"""Registers the format ``jelly-patch``; see ``pyspark_jelly``."""

from __future__ import annotations

from contextlib import suppress

from jelly_plugins.errors import MissingExtraError

with suppress(MissingExtraError):
    from jelly_plugins.spark.datasource.sources import JellyPatchDataSource as DefaultSource

__all__ = ["DefaultSource"]

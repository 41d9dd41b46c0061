"""Registers the format ``jelly-store``; see ``pyspark_jelly``."""

from __future__ import annotations

from contextlib import suppress

from jelly_plugins.errors import MissingExtraError

with suppress(MissingExtraError):
    from jelly_plugins.spark.datasource.sources import JellyStoreDataSource as DefaultSource

__all__ = ["DefaultSource"]

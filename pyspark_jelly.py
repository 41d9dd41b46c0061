"""Registers the format ``jelly``: Spark imports every top-level module named ``pyspark_*``.

A module that fails to import would take all other Python data sources with it. Without the packages
of the extra ``spark``, the format is therefore missing, and ``jelly_plugins.spark.register`` raises
an error that names them.
"""

from __future__ import annotations

from contextlib import suppress

from jelly_plugins.errors import MissingExtraError

with suppress(MissingExtraError):
    from jelly_plugins.spark.datasource.sources import JellyDataSource as DefaultSource

__all__ = ["DefaultSource"]

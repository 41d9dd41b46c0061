"""Where Spark finds the format ``jelly``: it imports every top-level module named ``pyspark_*``.

One that fails to import would take all other Python data sources with it; so without what the extra
``spark`` brings the format is simply not there, and ``jelly_plugins.spark.register`` says why.
"""

from __future__ import annotations

from contextlib import suppress

from jelly_plugins.errors import MissingExtraError

with suppress(MissingExtraError):
    from jelly_plugins.spark.datasource.sources import JellyDataSource as DefaultSource

__all__ = ["DefaultSource"]

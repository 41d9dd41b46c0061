"""Makes the formats known to a session that did not find them by itself.

Spark looks for top-level modules named ``pyspark_*`` when the first data source is asked for;
``pyspark_jelly`` and ``pyspark_jelly_patch`` are there for that, and an installed package needs no
more. A session that had looked before the package was installed does.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final
from weakref import WeakSet

from pyspark.sql import SparkSession

from .datasource.sources import JellyDataSource, JellyPatchDataSource
from .functions import register_functions

#: Sessions that know the formats: Spark logs a warning where one is made known again.
_REGISTERED: Final[WeakSet[SparkSession]] = WeakSet()
#: Likewise, the functions.
_WITH_FUNCTIONS: Final[WeakSet[SparkSession]] = WeakSet()


def register(spark: SparkSession) -> None:
    """Make the formats ``jelly`` and ``jelly-patch`` known to a session, and ``from_jelly``,
    ``to_jelly``, ``from_jelly_patch`` and ``to_jelly_patch`` to its SQL, unless they are.

    In SQL, the functions take a value and, if wanted, a map of options and the value's name in
    errors: ``from_jelly(value, map('mode', 'PERMISSIVE'), concat_ws('/', topic, offset))``.
    """
    _register_formats(spark)
    if spark not in _WITH_FUNCTIONS:
        _WITH_FUNCTIONS.add(spark)
        register_functions(spark)


def _register_formats(spark: SparkSession) -> None:
    if spark in _REGISTERED:
        return
    _REGISTERED.add(spark)
    for source in (JellyDataSource, JellyPatchDataSource):
        spark.dataSource.register(source)


def register_in_new(spark: SparkSession) -> None:
    """Make the formats known to a session that was just started, if it will not find them; or if
    executors get files of Python from it, which what Spark finds by itself does not see there."""
    if find_spec("pyspark_jelly") is None or spark.conf.get("spark.submit.pyFiles", ""):
        _register_formats(spark)
    else:
        _REGISTERED.add(spark)

"""Register the formats in a session that did not discover them.

Spark looks for top-level modules named ``pyspark_*`` when the first data source is requested. It
finds ``pyspark_jelly``, ``pyspark_jelly_patch`` and ``pyspark_jelly_store`` if this package is
installed. A session that looked for them before the package was installed needs :func:`register`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final
from weakref import WeakSet

from pyspark.sql import SparkSession

from .datasource.sources import JellyDataSource, JellyPatchDataSource, JellyStoreDataSource
from .functions import register_functions

#: Sessions that have the formats. Spark logs a warning if a format is registered again.
_REGISTERED: Final[WeakSet[SparkSession]] = WeakSet()
#: Sessions that have the functions.
_WITH_FUNCTIONS: Final[WeakSet[SparkSession]] = WeakSet()


def register(spark: SparkSession) -> None:
    """Register the formats ``jelly``, ``jelly-patch`` and ``jelly-store``, and the SQL functions
    ``from_jelly``, ``to_jelly``, ``from_jelly_patch`` and ``to_jelly_patch``, in a session.

    Does nothing if they are registered. In SQL, the functions take a value, and optionally a map of
    options and the name of the value in errors:
    ``from_jelly(value, map('mode', 'PERMISSIVE'), concat_ws('/', topic, offset))``.
    """
    _register_formats(spark)
    if spark not in _WITH_FUNCTIONS:
        _WITH_FUNCTIONS.add(spark)
        register_functions(spark)


def _register_formats(spark: SparkSession) -> None:
    if spark in _REGISTERED:
        return
    _REGISTERED.add(spark)
    for source in (JellyDataSource, JellyPatchDataSource, JellyStoreDataSource):
        spark.dataSource.register(source)


def register_in_new(spark: SparkSession) -> None:
    """Register the formats in a new session if it does not discover them.

    Also registers them if the session sends Python files to executors: Spark's discovery does not
    find formats in those files.
    """
    if find_spec("pyspark_jelly") is None or spark.conf.get("spark.submit.pyFiles", ""):
        _register_formats(spark)
    else:
        _REGISTERED.add(spark)

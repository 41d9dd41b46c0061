"""Says what is missing, where PySpark or what it needs for Arrow is."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import MissingExtraError

try:
    import pyarrow  # noqa: F401
    import pyspark.sql.streaming.datasource  # noqa: F401

    # Spark imports it where it is needed; it takes too long to do so everywhere.
    if find_spec("pandas") is None:
        raise ImportError("No module named 'pandas'")
except ImportError as error:
    raise MissingExtraError(
        f"PySpark 4.2 or newer, or what it needs, is missing ({error}): "
        "pip install 'jelly-plugins[spark]'"
    ) from error

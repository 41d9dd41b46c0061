"""Check that PySpark, and what it requires for Arrow, is installed."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import MissingExtraError

try:
    import pyarrow  # noqa: F401
    import pyspark.sql.streaming.datasource  # noqa: F401

    # Spark imports pandas where it is used; importing it here would take too long.
    if find_spec("pandas") is None:
        raise ImportError("No module named 'pandas'")
except ImportError as error:
    raise MissingExtraError(
        f"PySpark 4.2 or newer, or one of its requirements, is missing ({error}): "
        "pip install 'jelly-plugins[spark]', or in a checkout pip install '.[spark]'"
    ) from error

"""One Spark session for all tests that need one: starting it takes seconds.

Tests that ask for the fixture ``spark`` are marked ``spark``; ``-m "not spark"`` leaves them out.
They run with two task slots, and each task may fail three times.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jelly_plugins.spark import session

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.python.daemon.module": "tests.spark.daemon",
    # Rows by the hundred are not worth a compiler, nor a plan that is looked at again.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    # A short life on few cores: no time is spent on making its code faster.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


def start(folder: Path) -> SparkSession:
    """Start the session, or return it; its warehouse and temporary files are in a folder."""
    settings = {
        **SETTINGS,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    return session("local[2,4]", name="tests", config=settings)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    started = start(tmp_path_factory.mktemp("spark"))
    yield started
    started.stop()

"""One broker for all tests in this folder. They are marked ``kafka`` and ``slow``, so that the
default run excludes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .jars import broker_jars, spark_jars


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("kafka")
            item.add_marker("slow")


@pytest.fixture(scope="session")
def cache(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    return request.config.cache.mkdir("kafka")


@pytest.fixture(scope="session")
def broker(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    pytest.importorskip("confluent_kafka")
    from .broker import Broker

    broker = Broker(tmp_path_factory.mktemp("kafka"), broker_jars(cache))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def with_source(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give Spark's source to programs that a test starts."""
    jars = ",".join(map(str, spark_jars(cache)))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars {jars} pyspark-shell")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")

"""Messages of a real broker: the documentation's page, and from Spark into a sharded store."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from jelly_plugins.spark.shards import ShardedStore
from tests.shared_data import ROOT
from tests.spark.shards.logs import assert_same
from tests.spark.shards.model import Patch, quads_after, random_log, text_of
from tests.test_docs import BROKER, code_of, reason

confluent_kafka = pytest.importorskip("confluent_kafka")

from .broker import Broker  # noqa: E402

#: Time limit in seconds that is sufficient on any machine.
PATIENCE = 600

#: The address of the broker in documents.
DOCUMENTED = "localhost:9092"


class Topic:
    """A new topic with a producer."""

    def __init__(self, broker: Broker, name: str, partitions: int = 1) -> None:
        broker.create(name, partitions)
        self.name = name
        settings = {
            "bootstrap.servers": broker.address,
            "enable.idempotence": True,
            # The broker may be stopped for longer than the default timeout of clients.
            "message.timeout.ms": PATIENCE * 1000,
            "log_level": 0,
        }
        self._producer = confluent_kafka.Producer(settings)
        self.sent = 0

    def send(self, value: bytes, partition: int = 0) -> None:
        self._producer.produce(self.name, value, partition=partition, on_delivery=self._delivered)
        self._producer.poll(0)

    def _delivered(self, error: object, _: object) -> None:
        assert error is None, error
        self.sent += 1

    def flush(self) -> None:
        assert self._producer.flush(PATIENCE) == 0


@pytest.mark.usefixtures("with_source")
def test_the_page_runs_with_a_broker(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run all blocks of the page, in a process with a separate Spark."""
    page = "how-to/kafka.md"
    found = [text for language, text in code_of(page) if language == "python"]
    assert any(reason(page, text) == BROKER for text in found)
    text = "\n".join(found)
    assert DOCUMENTED in text
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", text.replace(DOCUMENTED, broker.address)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]


# Spark


class Follower:
    """A process of ``follow``."""

    def __init__(self, broker: Broker, topic: str, folder: Path, mode: str = "") -> None:
        command = [sys.executable, "-m", "tests.kafka.follow", broker.address, topic]
        self._errors = (folder / "errors.txt").open("ab")
        self._process = subprocess.Popen(
            [*command, str(folder), "1000" if mode else "20", mode],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )

    def version(self) -> int | None:
        """Wait for the next batch; return None if the process has ended."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("version "):
                return int(line.split()[1])
        return None

    def wait(self) -> int:
        while self.version() is not None:
            pass
        return self._process.wait()

    def kill(self) -> None:
        """Kill Python, Java and the workers."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._errors.close()


class Producing(Thread):
    """Sends patches at the given rate until it is stopped."""

    def __init__(self, topic: Topic, patches: list[Patch], pause: float) -> None:
        super().__init__(daemon=True)
        self._topic, self._patches, self._pause = topic, patches, pause
        self._stopped = Event()

    def run(self) -> None:
        for patch in self._patches:
            if self._stopped.wait(self._pause):
                break
            self._topic.send(text_of([patch]))

    def stop(self) -> None:
        self._stopped.set()
        self.join()
        self._topic.flush()


@pytest.mark.usefixtures("with_source")
def test_a_corrupt_message_fails_the_query_by_its_place(broker: Broker, tmp_path: Path) -> None:
    """Nothing of the message's batch is applied."""
    topic = Topic(broker, "corrupt")
    for value in (b"TX . A <urn:s> <urn:p> 1 . TC .", b"TX . A <urn:s"):
        topic.send(value)
    topic.flush()
    assert Follower(broker, topic.name, tmp_path, "once").wait() != 0
    _, _, text = (tmp_path / "errors.txt").read_text().rpartition("StreamingQueryException: ")
    assert "corrupt/0/1: " in text, text
    assert not (tmp_path / "root").exists()


@pytest.mark.usefixtures("with_source")
@pytest.mark.parametrize(
    ("kills", "broker_kills", "chained"),
    [
        pytest.param(1, 1, True, id="short"),
        pytest.param(4, 1, False, id="without ids"),
        pytest.param(20, 5, True, id="20 kills"),
    ],
)
def test_a_store_follows_a_topic(
    broker: Broker, tmp_path: Path, kills: int, broker_kills: int, chained: bool
) -> None:
    """Each patch is applied once, after kills of Spark and of the broker."""
    pick = random.Random(kills)
    topic = Topic(broker, f"changes-{kills}-{chained}")
    patches = random_log(kills, ids=chained, patches=20_000, subjects=100)
    producing = Producing(topic, patches, 0.1)
    producing.start()
    killed = broker_killed = 0
    while killed < kills or broker_killed < broker_kills:
        follower = Follower(broker, topic.name, tmp_path)
        # Kill some while they start, the others during a later batch.
        if pick.random() < 0.2:
            time.sleep(pick.uniform(0, 10))
        else:
            for _ in range(pick.randrange(1, 6)):
                if follower.version() is None:
                    break
            if broker_killed < broker_kills and pick.random() < 0.4:
                broker.kill()
                broker_killed += 1
                time.sleep(pick.uniform(0, 3))
                broker.start()
                follower.version()
            time.sleep(pick.uniform(0, 2))
        follower.kill()
        killed += 1
    producing.stop()
    assert 0 < topic.sent < len(patches)
    last = Follower(broker, topic.name, tmp_path, "once")
    assert last.wait() == 0, (tmp_path / "errors.txt").read_text()[-4000:]
    assert_same(tmp_path / "root", quads_after(patches[: topic.sent]))
    # Each batch continues the one before, or is an error.
    assert len(ShardedStore(tmp_path / "root").content.logs) == chained

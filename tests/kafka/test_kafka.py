"""Messages of a real broker: the documentation's page, and from Spark into a sharded store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from jelly_plugins.spark.shards import ShardedStore
from tests.shared_data import ROOT
from tests.spark.shards.logs import assert_same
from tests.spark.shards.model import quads_after, random_log, text_of
from tests.test_docs import BROKER, code_of, reason

confluent_kafka = pytest.importorskip("confluent_kafka")

from .broker import Broker  # noqa: E402

#: Time limit in seconds that is sufficient on any machine.
PATIENCE = 600

#: The address of the broker in documents.
DOCUMENTED = "localhost:9092"


def send(broker: Broker, topic: str, values: Iterable[bytes]) -> None:
    """Send messages to a new topic."""
    broker.create(topic)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.address, "enable.idempotence": True, "log_level": 0}
    )
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE) == 0


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

    def next_batch(self) -> bool:
        """Wait for the next batch; return False if the process has ended."""
        assert self._process.stdout is not None
        return any(line.startswith("version ") for line in self._process.stdout)

    def wait(self) -> int:
        while self.next_batch():
            pass
        return self._process.wait()

    def kill(self) -> None:
        """Kill Python, Java and the workers."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._errors.close()


@pytest.mark.usefixtures("with_source")
def test_a_corrupt_message_fails_the_query_by_its_place(broker: Broker, tmp_path: Path) -> None:
    """Nothing of the message's batch is applied."""
    send(broker, "corrupt", (b"TX . A <urn:s> <urn:p> 1 . TC .", b"TX . A <urn:s"))
    assert Follower(broker, "corrupt", tmp_path, "once").wait() != 0
    _, _, text = (tmp_path / "errors.txt").read_text().rpartition("StreamingQueryException: ")
    assert "corrupt/0/1: " in text, text
    assert not (tmp_path / "root").exists()


@pytest.mark.usefixtures("with_source")
@pytest.mark.parametrize("chained", [True, False])
def test_a_store_follows_a_topic(broker: Broker, tmp_path: Path, chained: bool) -> None:
    """Each patch is applied once, after kills of Spark when a batch is applied and not recorded."""
    patches = random_log(1, ids=chained, patches=100, subjects=100)
    topic = f"changes-{chained}"
    send(broker, topic, (text_of([patch]) for patch in patches))
    for batches in (1, 1, 2):
        follower = Follower(broker, topic, tmp_path)
        for _ in range(batches):
            assert follower.next_batch()
        follower.kill()
    last = Follower(broker, topic, tmp_path, "once")
    assert last.wait() == 0, (tmp_path / "errors.txt").read_text()[-4000:]
    assert_same(tmp_path / "root", quads_after(patches))
    # Each batch continues the one before, or is an error.
    assert len(ShardedStore(tmp_path / "root").content.logs) == chained

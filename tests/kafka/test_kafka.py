"""Messages of a real broker: with rdflib, with Oxigraph, and from Spark into a sharded store."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyoxigraph
import pytest
from rdflib import Graph

from jelly_plugins import Iri, Literal, Triple, read
from jelly_plugins.codec import Encoder, LogicalType, PhysicalType, StreamOptions, delimit
from jelly_plugins.oxigraph import load
from jelly_plugins.patch import ABORT, BEGIN, COMMIT, Operation, Patch, add, delete, write_patches
from jelly_plugins.spark.shards import ShardedStore, verify
from tests.conversions import written
from tests.shared_data import ROOT, shared
from tests.test_docs import BROKER, code_of, reason

confluent_kafka = pytest.importorskip("confluent_kafka")

from .broker import Broker  # noqa: E402

#: Time limit in seconds that is sufficient on any machine.
PATIENCE = 600

WEATHER = "data/assist-iot-weather_100kt.jelly.gz"
#: The address of the broker in documents.
DOCUMENTED = "localhost:9092"


def batches(count: int) -> list[list[Any]]:
    """Return the weather statements in batches of a hundred."""
    statements = read(shared(WEATHER))
    return [list(islice(statements, 100)) for _ in range(count)]


def store_of(*values: bytes) -> set[Any]:
    """Return the contents of a store after loading streams."""
    store = pyoxigraph.Store()
    for value in values:
        load(store, value, blank_nodes="keep")
    return set(store)


def stream_of(statements: Iterable[Triple]) -> bytes:
    encoder = Encoder(StreamOptions.flat(PhysicalType.TRIPLES))
    return b"".join(map(delimit, [*encoder.add(statements), *encoder.finish()]))


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


def received(broker: Broker, topic: str, count: int) -> list[bytes]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "tests",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    while len(found) < count:
        for message in consumer.consume(count - len(found), PATIENCE):
            assert message.error() is None, message.error()
            found.append(message.value())
    consumer.close()
    return found


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


def test_weather_with_rdflib_and_oxigraph(broker: Broker) -> None:
    """Use one stream for each message, and one for the partition."""
    sent = batches(200)
    options = StreamOptions.small(
        physical_type=PhysicalType.TRIPLES, logical_type=LogicalType.GRAPHS
    )
    whole, running = Topic(broker, "whole"), Topic(broker, "stream")
    stream = Encoder(options)
    for statements in sent:
        for topic, encoder in ((whole, Encoder(options)), (running, stream)):
            assert encoder.add(statements) == []
            topic.send(encoder.flush())
    expected = store_of(*map(stream_of, sent))
    for topic in (whole, running):
        topic.flush()
        assert topic.sent == len(sent)
    values = received(broker, whole.name, len(sent))
    graph = Graph()
    for value in values:
        graph.parse(data=value, format="jelly-plugins")
    assert len(graph) == len(expected)
    assert store_of(*values) == expected
    frames = received(broker, running.name, len(sent))
    assert sum(map(len, frames)) < sum(map(len, values))
    assert store_of(b"".join(map(delimit, frames))) == expected


# Spark


@dataclass
class Source:
    """Makes patches of the weather, and records the quads of a store after all of them."""

    pick: random.Random
    chained: bool
    rows: list[list[Any]] = field(default_factory=lambda: batches(1000))
    number: int = 0
    operations: int = 0
    quads: set[Triple] = field(default_factory=set)
    recent: list[Triple] = field(default_factory=list)

    def _statements(self) -> list[Operation]:
        """Add observations and delete earlier ones, some of which are added again later.

        The counter would reveal the last patch applied twice, or an earlier patch.
        """
        counter = [
            Triple(Iri("urn:counter"), Iri("urn:is"), Literal(str(self.number - back)))
            for back in (1, 0)
        ]
        new = self.rows[self.number % len(self.rows)][:50]
        old = self.pick.sample(self.recent, min(len(self.recent), 20))
        self.recent = (self.recent + new)[-2000:]
        return [delete(counter[0]), add(counter[1]), *map(delete, old), *map(add, new)]

    def next(self) -> bytes:
        aborted = self.pick.random() < 0.1
        statements = self._statements()
        rows = [BEGIN, *statements, COMMIT]
        for kind, statement in statements:
            (self.quads.add if kind.code == "A" else self.quads.discard)(statement)
        self.operations += len(statements)
        if aborted:
            noise = Triple(Iri("urn:noise"), Iri("urn:is"), Literal(str(self.number)))
            rows = [BEGIN, add(noise), ABORT, *rows]
        headers = []
        if self.chained:
            headers = [("id", Iri(f"urn:patch:{self.number}"))]
            if self.number:
                headers.append(("prev", Iri(f"urn:patch:{self.number - 1}")))
        self.number += 1
        return written(write_patches, [Patch(rows, headers)])


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

    def __init__(self, topic: Topic, source: Source, pause: float) -> None:
        super().__init__(daemon=True)
        self._topic, self._source, self._pause = topic, source, pause
        self._stopped = Event()

    def run(self) -> None:
        while not self._stopped.wait(self._pause):
            self._topic.send(self._source.next())

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
    broker: Broker,
    tmp_path: Path,
    kills: int,
    broker_kills: int,
    chained: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each patch is applied once, after kills of Spark and of the broker."""
    started = time.monotonic()
    pick = random.Random(kills)
    topic = Topic(broker, f"changes-{kills}-{chained}")
    source = Source(pick, chained)
    producing = Producing(topic, source, 0.1)
    producing.start()
    killed = broker_killed = starts = ended = 0
    while killed < kills or broker_killed < broker_kills:
        follower = Follower(broker, topic.name, tmp_path)
        starts += 1
        # Kill some while they start, the others during a later batch.
        if pick.random() < 0.2:
            time.sleep(pick.uniform(0, 10))
        else:
            for _ in range(pick.randrange(1, 6)):
                if follower.version() is None:
                    ended += 1
                    break
            if broker_killed < broker_kills and pick.random() < 0.4:
                broker.kill()
                broker_killed += 1
                time.sleep(pick.uniform(0, 3))
                broker.start()
                if follower.version() is None:
                    ended += 1
            time.sleep(pick.uniform(0, 2))
        follower.kill()
        killed += 1
    producing.stop()
    assert topic.sent == source.number
    last = Follower(broker, topic.name, tmp_path, "once")
    assert last.wait() == 0, (tmp_path / "errors.txt").read_text()[-4000:]
    store = ShardedStore(tmp_path / "root")
    expected = store_of(stream_of(source.quads))
    found = list(store)
    assert len(found) == len(set(found)) == len(store)
    assert set(found) == expected
    # Each batch continues the one before, or is an error.
    assert len(store.content.logs) == chained
    assert verify(tmp_path / "root") == []
    with capsys.disabled():
        print(
            f"\n{topic.sent} messages, {source.number} patches, {source.operations} operations, "
            f"{len(store)} quads, {store.version} versions; kills: {killed} Spark, "
            f"{broker_killed} broker; {starts + 1} starts of Spark, {ended} ended by themselves; "
            f"{time.monotonic() - started:.0f} s"
        )

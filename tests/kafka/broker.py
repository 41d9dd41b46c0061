"""A broker of Apache Kafka in a folder and a separate process (KRaft mode)."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from jelly_plugins.spark.sessions import use_java

#: Time limit in seconds for a start, sufficient on any machine.
_PATIENCE = 120

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class Broker:
    """A broker, which must be started.

    :param folder: an empty folder.
    :param jars: the broker's class path.
    :ivar address: the address for clients.
    """

    def __init__(self, folder: Path, jars: Sequence[Path]) -> None:
        self._folder = folder
        use_java()
        home = os.environ.get("JAVA_HOME")
        java = "java" if home is None else f"{home}/bin/java"
        memory = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        self._java = [java, *memory, "-cp", os.pathsep.join(map(str, jars))]
        port, controller = _free_ports()
        self.address = f"127.0.0.1:{port}"
        self._settings = folder / "server.properties"
        self._settings.write_text(
            _PROPERTIES.format(folder=folder, port=port, controller=controller)
        )
        cluster = urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        self._run("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c")
        self._process: subprocess.Popen[bytes] | None = None

    def _run(self, *arguments: str) -> None:
        command = [*self._java, *arguments, str(self._settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._settings)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                admin.list_topics(timeout=1)
                return
            except KafkaException:
                log_text = (self._folder / "broker.log").read_text()
                assert self._process.poll() is None, log_text
                assert time.monotonic() < end, log_text

    def create(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.address})
        [created] = admin.create_topics([NewTopic(topic, 1, 1)]).values()
        created.result()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]

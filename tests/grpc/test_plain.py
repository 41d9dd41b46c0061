"""Programs that are generated from the plain ``grpc.proto`` by grpcio-tools, against ours, both
ways; see :mod:`.plain`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins import read
from jelly_plugins.grpc import StoreSink, publish, subscribe
from jelly_plugins.oxigraph import load

from ..shared_data import ROOT
from .support import PATIENCE, Kept, delimited, frames_of, numbered, quads, refused, service


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of modules that protoc made."""
    pytest.importorskip("grpc_tools")
    folder = tmp_path_factory.mktemp("generated")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}"]
    outputs = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
    subprocess.run([*command, *outputs, "rdf.proto", "grpc.proto"], check=True)
    return folder


def line(folder: Path, *arguments: str | Path) -> list[str]:
    plain = Path(__file__).with_name("plain.py")
    return [sys.executable, str(plain), str(folder), *map(str, arguments)]


def run(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line(folder, *arguments), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def files(folder: Path, frames: list[bytes]) -> list[Path]:
    names = [folder / f"{number}.frame" for number in range(len(frames))]
    for name, frame in zip(names, frames, strict=True):
        name.write_bytes(frame)
    return names


def statements_of(text: str) -> list[object]:
    return list(read(delimited(map(bytes.fromhex, text.split()))))


def test_its_client_publishes_and_subscribes(generated: Path, tmp_path: Path) -> None:
    store = ox.Store()
    with service({"all": store}, sink=StoreSink(store)) as (server, _):
        names = files(tmp_path, frames_of(quads(600)))
        assert run(generated, "publish", server.address, *names).returncode == 0
        found = run(generated, "subscribe", server.address, "all")
        assert set(statements_of(found.stdout)) == set(quads(600))
        asked = ("physical_type=3", "max_name_table_size=16", "version=1")
        found = run(generated, "subscribe", server.address, "all", *asked)
        assert set(statements_of(found.stdout)) == set(quads(600))


def test_its_client_is_told_what_is_wrong(generated: Path, tmp_path: Path) -> None:
    with service({"all": ox.Store()}, sink=Kept()) as (server, _):
        for arguments, status in (
            (("subscribe", server.address, "nowhere"), "NOT_FOUND"),
            (("subscribe", server.address, "all", "physical_type=1"), "INVALID_ARGUMENT"),
            (("subscribe", server.address, "all", "physical_type=2"), "INVALID_ARGUMENT"),
            (("publish", server.address), "INVALID_ARGUMENT"),
            (("publish", server.address, *files(tmp_path, [b""])), "INVALID_ARGUMENT"),
        ):
            done = run(generated, *arguments)
            assert done.returncode == 1
            assert done.stderr.startswith(status), done.stderr


@contextmanager
def serving(folder: Path, names: list[Path]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with subprocess.Popen(
        line(folder, "serve", *names), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{process.stdout.readline().strip()}", process
        finally:
            process.kill()


def test_its_server_is_published_and_subscribed_to(generated: Path, tmp_path: Path) -> None:
    names = files(tmp_path, frames_of(quads(600)))
    with serving(generated, names) as (address, process):
        with subscribe("weather", address) as stream:
            assert list(stream.statements()) == quads(600)
        store = ox.Store()
        with subscribe("weather", address) as stream:
            assert stream.load(store) == 600
        with (
            subscribe("nowhere", address) as stream,
            refused("INVALID_ARGUMENT", "only weather"),
        ):
            list(stream)
        publish(numbered(600), address)
        assert process.stdout is not None
        frame = process.stdout.readline()
        assert statements_of(frame) == numbered(600)
        expected = ox.Store()
        load(expected, delimited(frames_of(quads(600))))
        assert set(store) == set(expected)

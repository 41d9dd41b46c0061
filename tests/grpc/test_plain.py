"""Test clients and servers against a program that grpcio-tools generates from the original
``grpc.proto`` (:mod:`.plain`).
"""

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
from .support import PATIENCE, Kept, delimited, frames_of, numbered, quads, rejected, service

#: The command line of the program, without its arguments.
Program = list[str]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Generate the modules of the program."""
    pytest.importorskip("grpc_tools")
    folder = tmp_path_factory.mktemp("plain")
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}"]
    outputs = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
    subprocess.run([*protoc, *outputs, "rdf.proto", "grpc.proto"], check=True)
    return [sys.executable, str(Path(__file__).with_name("plain.py")), str(folder)]


def run(program: Program, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def files(folder: Path, frames: list[bytes]) -> list[Path]:
    names = [folder / f"{number}.frame" for number in range(len(frames))]
    for name, frame in zip(names, frames, strict=True):
        name.write_bytes(frame)
    return names


def statements_of(text: str) -> list[object]:
    return list(read(delimited(map(bytes.fromhex, text.split()))))


def test_its_client_publishes_and_subscribes(program: Program, tmp_path: Path) -> None:
    store = ox.Store()
    with service({"all": store}, sink=StoreSink(store)) as (server, _):
        names = files(tmp_path, frames_of(quads(600)))
        assert run(program, "publish", server.address, *names).returncode == 0
        found = run(program, "subscribe", server.address, "all")
        assert set(statements_of(found.stdout)) == set(quads(600))
        asked = ("physical_type=3", "max_name_table_size=16", "version=1")
        found = run(program, "subscribe", server.address, "all", *asked)
        assert set(statements_of(found.stdout)) == set(quads(600))


def test_its_client_receives_errors(program: Program) -> None:
    with service({"all": ox.Store()}, sink=Kept()) as (server, _):
        for arguments, status in (
            (("subscribe", server.address, "nowhere"), "NOT_FOUND"),
            (("publish", server.address), "INVALID_ARGUMENT"),
        ):
            done = run(program, *arguments)
            assert done.returncode == 1
            assert done.stderr.startswith(status), done.stderr


@contextmanager
def serving(program: Program, names: list[Path]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with subprocess.Popen(
        [*program, "serve", *map(str, names)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{process.stdout.readline().strip()}", process
        finally:
            process.kill()


def test_its_server_is_published_and_subscribed_to(program: Program, tmp_path: Path) -> None:
    names = files(tmp_path, frames_of(quads(600)))
    with serving(program, names) as (address, process):
        with subscribe("weather", address) as stream:
            assert list(stream.statements()) == quads(600)
        store = ox.Store()
        with subscribe("weather", address) as stream:
            assert stream.load(store) == 600
        with (
            subscribe("nowhere", address) as stream,
            rejected("INVALID_ARGUMENT", "only weather"),
        ):
            list(stream)
        publish(numbered(600), address)
        assert process.stdout is not None
        frame = process.stdout.readline()
        assert statements_of(frame) == numbered(600)
        expected = ox.Store()
        load(expected, delimited(frames_of(quads(600))))
        assert set(store) == set(expected)

"""A disk that is full: what was not written whole is not in the log, then or later."""

from __future__ import annotations

import errno
import os
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyoxigraph")
pytest.importorskip("oxrdflib")

import pyoxigraph as ox
from rdflib import Literal, URIRef

from jelly_plugins import SourceError
from jelly_plugins.patch import read_patches, recording

from .targets import MAKERS, Target

pytestmark = pytest.mark.filterwarnings("ignore:.*default_context.*")


class Disk:
    """What is left of a disk.

    :ivar size: bytes that a file may have.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def file(self) -> type[FileIO]:
        """A class of files on it."""
        disk = self

        class File(FileIO):
            def write(self, data: Any) -> int:
                free = disk.size - os.fstat(self.fileno()).st_size
                if free <= 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                # As a file system does it: first what fits.
                return super().write(memoryview(data)[:free])

        return File


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk of logs that are opened."""
    found = Disk(8192)
    monkeypatch.setattr(recording, "FileIO", found.file())
    return found


@pytest.fixture(params=["jellyp", "rdfp"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"log.{request.param}"


def add(target: Target, recorder: Any, number: int, size: int) -> None:
    """Add a statement with a literal of so many characters, in one transaction."""
    subject, value = f"urn:{number}", "x" * size
    if target.is_graph:
        recorder.graph.add((URIRef(subject), URIRef("urn:p"), Literal(value)))
        recorder.commit()
    else:
        named = ox.NamedNode
        recorder.add(ox.Quad(named(subject), named("urn:p"), ox.Literal(value)))


def subjects(target: Target) -> list[str]:
    return sorted(row[0] for row in target.rows())


@pytest.mark.parametrize("kind", ["Oxigraph in memory", "Graph", "Dataset"])
@pytest.mark.parametrize("free", [0, 40, 150])
def test_a_change_that_the_disk_has_no_room_for(
    kind: str, free: int, path: Path, disk: Disk
) -> None:
    store, replica = (Target(MAKERS[kind](path.parent)) for _ in range(2))
    recorder = store.record(path)
    opening = path.read_bytes()
    disk.size = len(opening) + free
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        add(store, recorder, 0, 1000)
    assert path.read_bytes() == opening
    disk.size = 8192
    add(store, recorder, 1, 5000)
    good = path.read_bytes()
    for _ in range(2):
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as raised:
            add(store, recorder, 2, 4000)
        assert raised.value.filename == str(path)
        assert path.read_bytes() == good
        assert subjects(store) == ["<urn:1>"]
    # A smaller one goes.
    add(store, recorder, 3, 10)
    with pytest.raises(SourceError, match="another process"):
        store.record(path)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        add(store, recorder, 4, 4000)
    recorder.close()
    # It is not written later either, when there is space.
    disk.size *= 2
    assert len(list(read_patches(path))) == 2
    recorder = store.record(path)
    add(store, recorder, 5, 4000)
    recorder.close()
    assert replica.replay(path).patches == 3
    assert subjects(replica) == subjects(store) == ["<urn:1>", "<urn:3>", "<urn:5>"]


@pytest.mark.parametrize("free", [0, 1, 18])
def test_a_disk_without_room_for_a_new_log(tmp_path: Path, disk: Disk, free: int) -> None:
    path = tmp_path / "log.jellyp"
    disk.size = free
    store = Target(ox.Store())
    with pytest.raises(SourceError, match=os.strerror(errno.ENOSPC)):
        store.record(path)
    assert path.read_bytes() == b""
    disk.size = 8192
    store.record(path).close()
    assert Target(ox.Store()).replay(path).patches == 0

"""A disk that is full: what was not written whole is not in the log, then or later."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyoxigraph")
pytest.importorskip("oxrdflib")

import pyoxigraph as ox
from rdflib import Dataset, Graph, Literal, URIRef

from jelly_plugins import SourceError
from jelly_plugins import oxigraph as oxigraph_backend
from jelly_plugins import rdflib as rdflib_backend
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.patch import read_patches, recording

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


MAKERS: dict[str, Callable[[], Any]] = {
    "Oxigraph": ox.Store,
    "Graph": Graph,
    "Dataset": Dataset,
}


class Recorded:
    """A store of any kind that is recorded."""

    def __init__(self, kind: str) -> None:
        self.store = MAKERS[kind]()
        self._rdflib = isinstance(self.store, Graph)
        self._backend: Any = rdflib_backend if self._rdflib else oxigraph_backend

    def record(self, path: Path) -> Any:
        return self._backend.record(self.store, path)

    def replay(self, path: Path) -> Any:
        return self._backend.replay(self.store, path)

    def add(self, recorder: Any, number: int, size: int) -> None:
        """Add a statement with a literal of so many characters, in one transaction."""
        subject, value = f"urn:{number}", "x" * size
        if self._rdflib:
            recorder.graph.add((URIRef(subject), URIRef("urn:p"), Literal(value)))
            recorder.commit()
        else:
            named = ox.NamedNode
            recorder.add(ox.Quad(named(subject), named("urn:p"), ox.Literal(value)))

    def subjects(self) -> list[str]:
        if self._rdflib:
            return sorted(str(row[0]) for row in self.store)
        quads = (quad for quad in self.store if quad.graph_name != BOOKKEEPING)
        return sorted(quad.subject.value for quad in quads)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("free", [0, 40, 150])
def test_a_change_that_the_disk_has_no_room_for(
    kind: str, free: int, path: Path, disk: Disk
) -> None:
    store, replica = Recorded(kind), Recorded(kind)
    recorder = store.record(path)
    opening = path.read_bytes()
    disk.size = len(opening) + free
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        store.add(recorder, 0, 1000)
    assert path.read_bytes() == opening
    disk.size = 8192
    store.add(recorder, 1, 5000)
    good = path.read_bytes()
    for _ in range(2):
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as raised:
            store.add(recorder, 2, 4000)
        assert raised.value.filename == str(path)
        assert path.read_bytes() == good
        assert store.subjects() == ["urn:1"]
    # A smaller one goes.
    store.add(recorder, 3, 10)
    with pytest.raises(SourceError, match="another process"):
        store.record(path)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        store.add(recorder, 4, 4000)
    recorder.close()
    # It is not written later either, when there is space.
    disk.size *= 2
    assert len(list(read_patches(path))) == 2
    recorder = store.record(path)
    store.add(recorder, 5, 4000)
    recorder.close()
    assert replica.replay(path).patches == 3
    assert replica.subjects() == store.subjects() == ["urn:1", "urn:3", "urn:5"]


@pytest.mark.parametrize("free", [0, 1, 18])
def test_a_disk_without_room_for_a_new_log(tmp_path: Path, disk: Disk, free: int) -> None:
    path = tmp_path / "log.jellyp"
    disk.size = free
    store = Recorded("Oxigraph")
    with pytest.raises(SourceError, match=os.strerror(errno.ENOSPC)):
        store.record(path)
    assert path.read_bytes() == b""
    disk.size = 8192
    store.record(path).close()
    assert Recorded("Oxigraph").replay(path).patches == 0

"""Following a log that grows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins import ChainError, JellyError, SourceError
from jelly_plugins.oxigraph import count_quads, positions, replay
from jelly_plugins.patch.replay import replay as driver

from .support import contents, counting, jelly_log, log, patch, transaction

PATCHES = counting(4, 3)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_INTERVAL", 0)


class Growing:
    """Appends the chunks of a log one by one, each time the reader of the file has nothing left;
    and notes how many statements the store has then."""

    def __init__(self, path: Path, store: ox.Store, chunks: list[bytes]) -> None:
        self.path = path
        self.counts: list[int] = []
        self._store = store
        self._chunks = chunks
        path.write_bytes(b"")

    def stop(self) -> bool:
        self.counts.append(count_quads(self._store))
        if not self._chunks:
            return True
        with self.path.open("ab") as file:
            file.write(self._chunks.pop(0))
        return False

    def follow(self) -> None:
        replay(self._store, self.path, follow=True, stop=self.stop)


@pytest.mark.parametrize("suffix", ["jellyp", "rdfp"])
@pytest.mark.parametrize("size", [1, 7, 50])
def test_what_is_complete_is_applied(
    store: ox.Store, tmp_path: Path, suffix: str, size: int
) -> None:
    data = (jelly_log if suffix == "jellyp" else log)(*PATCHES)
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    growing = Growing(tmp_path / f"log.{suffix}", store, chunks)
    growing.follow()
    assert set(growing.counts) <= {0, 3, 6, 9, 12}
    assert growing.counts == sorted(growing.counts)
    assert growing.counts[-1] == 12
    if size < 50:
        assert set(growing.counts) == {0, 3, 6, 9, 12}
    # It was complete, and is known to be.
    assert replay(store, growing.path).patches == 0
    assert positions(store)[0].complete


def test_transactions_of_a_patch_that_is_not_complete(store: ox.Store, tmp_path: Path) -> None:
    chunks = [f"A <urn:s> <urn:p> {i} .\nTC .\nTX .\n".encode() for i in range(3)]
    growing = Growing(tmp_path / "log.rdfp", store, [b"H id <urn:p:1> .\nTX .\n", *chunks])
    growing.follow()
    assert growing.counts == [0, 0, 1, 2, 3]
    assert not positions(store)[0].complete
    # The rest, once it is there.
    with growing.path.open("ab") as file:
        file.write(b"A <urn:s> <urn:p> 3 .\nTC .\n")
    assert replay(store, growing.path).transactions == 1
    assert count_quads(store) == 4
    assert positions(store)[0].complete


def removed(path: Path) -> None:
    path.unlink()


def rotated(path: Path) -> None:
    # The last of the old file is read before it is known that there is another one.
    with path.open("ab") as file:
        file.write(log(PATCHES[2]))
    path.rename(path.with_suffix(".1"))
    path.write_bytes(log(*PATCHES))


def replaced(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(log(*PATCHES))
    other.replace(path)


def shortened(path: Path) -> None:
    path.write_bytes(log(PATCHES[3]))


@pytest.mark.parametrize(
    ("change", "error", "count_then"),
    [
        (removed, "not there any more", 6),
        (rotated, "replaced by another", 9),
        (replaced, "replaced by another", 6),
        (shortened, "was rewritten", 6),
    ],
)
def test_a_file_that_does_not_just_grow(
    store: ox.Store, tmp_path: Path, change: Callable[[Path], None], error: str, count_then: int
) -> None:
    path = tmp_path / "log.rdfp"
    path.write_bytes(log(*PATCHES[:2]))
    looks = 0

    def stop() -> bool:
        nonlocal looks
        looks += 1
        if looks == 2:
            change(path)
        return looks > 4

    with pytest.raises(SourceError, match=rf"log\.rdfp: .*{error}"):
        replay(store, path, follow=True, stop=stop)
    assert count_quads(store) == count_then
    # In the new file, a new replay goes on.
    path.write_bytes(log(*PATCHES))
    replay(store, path)
    assert count_quads(store) == 12


def test_it_begins_where_the_store_stands(store: ox.Store, tmp_path: Path) -> None:
    replay(store, log(*PATCHES[:2]))
    growing = Growing(tmp_path / "log.rdfp", store, [log(*PATCHES[:3]), log(PATCHES[3])])
    growing.follow()
    assert growing.counts == [6, 9, 12]


def test_a_log_of_another_store_is_not_waited_for(store: ox.Store, tmp_path: Path) -> None:
    replay(store, log(*PATCHES))
    before = contents(store)
    growing = Growing(tmp_path / "log.rdfp", store, [log(*PATCHES[:2]), log(*PATCHES[2:])])
    with pytest.raises(ChainError, match="<urn:p:4>"):
        growing.follow()
    assert contents(store) == before


def test_a_gap(store: ox.Store, tmp_path: Path) -> None:
    growing = Growing(tmp_path / "log.jellyp", store, [jelly_log(*PATCHES[:2], *PATCHES[3:])])
    with pytest.raises(ChainError, match=r"<urn:p:3>.*<urn:p:2>"):
        growing.follow()
    assert count_quads(store) == 6


def test_until(store: ox.Store, tmp_path: Path) -> None:
    path = tmp_path / "log.rdfp"
    path.write_bytes(log(*PATCHES))
    assert replay(store, path, follow=True, until="urn:p:3").patches == 3


def test_an_exception_of_stop(store: ox.Store, tmp_path: Path) -> None:
    path = tmp_path / "log.rdfp"
    path.write_bytes(log(*PATCHES))

    def stop() -> bool:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        replay(store, path, follow=True, stop=stop)
    assert count_quads(store) == 12


def test_a_file_that_is_not_there(store: ox.Store, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        replay(store, tmp_path / "none.rdfp", follow=True)


def test_a_broken_row(store: ox.Store, tmp_path: Path) -> None:
    growing = Growing(tmp_path / "log.rdfp", store, [log(*PATCHES[:1]), b"TX .\nnonsense\n"])
    with pytest.raises(JellyError, match="patch number 2"):
        growing.follow()
    assert count_quads(store) == 3


def test_from_another_thread(store: ox.Store, tmp_path: Path) -> None:
    path = tmp_path / "log.jellyp"
    data = jelly_log(*(patch(i, transaction(f"A _:s <urn:p> {i} .")) for i in range(1, 30)))
    path.write_bytes(b"")
    ended = threading.Event()
    thread = threading.Thread(
        target=replay,
        args=(store, path),
        kwargs={"follow": True, "stop": ended.is_set},
    )
    thread.start()
    with path.open("ab", buffering=0) as file:
        for start in range(0, len(data), 10):
            file.write(data[start : start + 10])
    while count_quads(store) < 29 and thread.is_alive():
        pass
    ended.set()
    thread.join(10)
    assert count_quads(store) == 29

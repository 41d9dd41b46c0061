"""Following a log that grows, whose file is replaced, or whose writer is killed in the middle of a
patch, which the next one removes."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store

from jelly_plugins import ChainError, JellyError, SourceError
from jelly_plugins import oxigraph as ox
from jelly_plugins.patch import PatchReader, read_patches, write_patches
from jelly_plugins.patch.replay import replay as driver

from ..oxigraph.support import counting, jelly_log, log
from .targets import MAKERS, Target

#: Each adds three statements.
PATCHES = counting(4, 3)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_INTERVAL", 0)


@pytest.fixture(params=["Oxigraph in memory", "Oxigraph on disk", "Graph"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    return Target(MAKERS[request.param](tmp_path))


class Growing:
    """A log that changes each time its reader has nothing left.

    :param steps: what is appended each time, or called.
    :ivar counts: how many statements the store has then.
    """

    def __init__(self, path: Path, store: Target, *steps: bytes | Callable[[], object]) -> None:
        self.path = path
        self.counts: list[int] = []
        self._store = store
        self._steps = list(steps)
        if not path.exists():
            path.write_bytes(b"")

    def stop(self) -> bool:
        self.counts.append(len(self._store.rows()))
        if not self._steps:
            return True
        step = self._steps.pop(0)
        if isinstance(step, bytes):
            with self.path.open("ab") as file:
                file.write(step)
        else:
            step()
        return False

    def follow(self, **settings: Any) -> Any:
        return self._store.replay(self.path, follow=True, stop=self.stop, **settings)


@pytest.mark.parametrize("suffix", ["jellyp", "rdfp"])
@pytest.mark.parametrize("size", [1, 7, 50])
def test_what_is_complete_is_applied(store: Target, tmp_path: Path, suffix: str, size: int) -> None:
    data = (jelly_log if suffix == "jellyp" else log)(*PATCHES)
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    growing = Growing(tmp_path / f"log.{suffix}", store, *chunks)
    growing.follow()
    assert set(growing.counts) <= {0, 3, 6, 9, 12}
    assert growing.counts == sorted(growing.counts)
    assert growing.counts[-1] == 12
    if size < 50:
        assert set(growing.counts) == {0, 3, 6, 9, 12}
    # It was complete, and is known to be.
    assert store.replay(growing.path).patches == 0
    assert store.positions()[0].complete


def test_transactions_of_a_patch_that_is_not_complete(store: Target, tmp_path: Path) -> None:
    chunks = [f"A <urn:s> <urn:p> <urn:{i}> .\nTC .\nTX .\n".encode() for i in range(3)]
    growing = Growing(tmp_path / "log.rdfp", store, b"H id <urn:p:1> .\nTX .\n", *chunks)
    growing.follow()
    assert growing.counts == [0, 0, 1, 2, 3]
    assert not store.positions()[0].complete
    # The rest, once it is there.
    with growing.path.open("ab") as file:
        file.write(b"A <urn:s> <urn:p> <urn:3> .\nTC .\n")
    assert store.replay(growing.path).transactions == 1
    assert len(store.rows()) == 4
    assert store.positions()[0].complete


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
        (removed, "removed or replaced", 6),
        (rotated, "removed or replaced", 9),
        (replaced, "removed or replaced", 6),
        (shortened, "was rewritten", 6),
    ],
)
def test_a_file_that_does_not_just_grow(
    store: Target, tmp_path: Path, change: Callable[[Path], None], error: str, count_then: int
) -> None:
    path = tmp_path / "log.rdfp"
    steps = (log(*PATCHES[:2]), lambda: change(path), lambda: None, lambda: None)
    with pytest.raises(SourceError, match=rf"log\.rdfp: .*{error}"):
        Growing(path, store, *steps).follow()
    assert len(store.rows()) == count_then
    # In the new file, a new replay goes on.
    path.write_bytes(log(*PATCHES))
    store.replay(path)
    assert len(store.rows()) == 12


def test_it_begins_where_the_store_is_and_ends_where_it_should(
    store: Target, tmp_path: Path
) -> None:
    store.replay(log(*PATCHES[:1]))
    growing = Growing(tmp_path / "log.rdfp", store, log(*PATCHES[:2]), log(*PATCHES[2:]))
    assert growing.follow(until="urn:p:3").patches == 2
    assert growing.counts == [3, 6]


@pytest.mark.parametrize(
    ("applied", "grown", "error", "message", "count_then"),
    [
        # A log of another store is not waited for.
        (PATCHES, PATCHES[:2], ChainError, "<urn:p:4>", 12),
        ([], [*PATCHES[:2], PATCHES[3]], ChainError, "<urn:p:3>.*<urn:p:2>", 6),
        ([], [PATCHES[0], "TX .\nnonsense\n"], JellyError, "patch number 2", 3),
    ],
    ids=["before", "gap", "row"],
)
def test_a_log_that_is_rejected(
    store: Target,
    tmp_path: Path,
    applied: list[str],
    grown: list[str],
    error: type[JellyError],
    message: str,
    count_then: int,
) -> None:
    if applied:
        store.replay(log(*applied))
    with pytest.raises(error, match=message):
        Growing(tmp_path / "log.rdfp", store, log(*grown)).follow()
    assert len(store.rows()) == count_then


def test_an_exception_of_stop(store: Target, tmp_path: Path) -> None:
    def fail() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        Growing(tmp_path / "log.rdfp", store, log(*PATCHES), fail).follow()
    assert len(store.rows()) == 12


def test_following_needs_a_source_of_bytes(store: Target) -> None:
    with pytest.raises(ValueError, match="bytes"):
        store.replay([], follow=True)


# Patches that are removed


def quad(text: str) -> Quad:
    return Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal(text))


def recorded(path: Path, *texts: str) -> bytes:
    """The log after each text was recorded in a patch of its own, in a store that has the log."""
    with ox.record(Store(), path) as recorder:
        for text in texts:
            recorder.add(quad(text))
    return path.read_bytes()


class Logs:
    """The bytes of a log: of its whole patches, of a patch that is not finished, and of those that
    take its place."""

    def __init__(self, folder: Path, form: str) -> None:
        name = f"log.{'rdfp' if form == 'rdfp' else 'jellyp'}"
        (folder / "one").mkdir()
        self.whole = recorded(folder / "one" / name, "one")
        shutil.copytree(folder / "one", folder / "other")
        long = recorded(folder / "one" / name, "AAAA-" + "a" * 60)
        other = recorded(folder / "other" / name, "BBBB-" + "b" * 60, "three" * 30)
        if form == "trp":
            size = len(thrift(self.whole))
            self.whole, long, other = (thrift(each) for each in (self.whole, long, other))
            assert long[:size] == other[:size] == self.whole
        self.lost = long[len(self.whole) :]
        self.next = other[len(self.whole) :]


def thrift(log: bytes) -> bytes:
    file = io.BytesIO()
    write_patches(read_patches(log), file, format="trp")
    return file.getvalue()


@pytest.fixture(scope="module", params=["jellyp", "rdfp", "trp"])
def logs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Logs:
    return Logs(tmp_path_factory.mktemp("logs"), request.param)


def cuts(lost: bytes) -> Iterator[int]:
    """Places within a patch: in its headers, in its transaction, before its last byte."""
    yield from range(1, len(lost), 17)
    yield len(lost) - 1


@pytest.mark.parametrize("kind", ["Oxigraph in memory", "Graph"])
@pytest.mark.parametrize("seen_shorter", [False, True])
def test_a_patch_that_was_removed(
    logs: Logs, tmp_path: Path, kind: str, seen_shorter: bool
) -> None:
    path = tmp_path / "log"
    for cut in cuts(logs.lost):
        path.write_bytes(logs.whole)
        steps = [logs.whole + logs.lost[:cut]]
        steps += [logs.whole] * seen_shorter
        steps += [logs.whole + logs.next[: cut + 3], logs.whole + logs.next]
        store = Target(MAKERS[kind](tmp_path))
        # The same file stays: it is written anew in place.
        Growing(path, store, *(lambda data=each: path.write_bytes(data) for each in steps)).follow()
        assert store.objects() == ["BBBB-" + "b" * 60, "one", "three" * 30], cut
        assert store.replay(path).transactions == 0, cut


def test_a_patch_of_several_frames_that_was_removed(tmp_path: Path) -> None:
    """What was read of it is longer than a chunk."""
    path = tmp_path / "log.jellyp"
    whole = recorded(path, "one")

    def extend(text: str, count: int) -> bytes:
        path.write_bytes(whole)
        with ox.record(Store(), path) as recorder:
            recorder.extend(quad(f"{text} {i}") for i in range(count))
        return path.read_bytes()

    lost = extend("lost", 20_000)
    path.write_bytes(whole)
    store = Target(Store())
    steps = [lambda size=size: path.write_bytes(lost[:-size]) for size in (100, 10)]
    Growing(path, store, *steps, lambda: extend("kept", 30_000)).follow()
    assert set(store.objects()) == {"one"} | {f"kept {i}" for i in range(30_000)}


def test_a_reader_of_its_own(logs: Logs, tmp_path: Path) -> None:
    """Those that follow a log by a reader see that they have to read it again."""
    path = tmp_path / "log"
    path.write_bytes(logs.whole + logs.lost[:-20])
    steps = [logs.whole + logs.next]

    def wait() -> bool:
        if steps:
            path.write_bytes(steps.pop(0))
            return True
        return False

    with (
        pytest.raises(SourceError, match="last patch of the file that is followed was replaced"),
        PatchReader(path, wait=wait) as rows,
    ):
        list(rows)

"""Following a log whose writer is killed in the middle of a patch, which the next one removes."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store

from jelly_plugins import SourceError
from jelly_plugins import oxigraph as ox
from jelly_plugins.patch import PatchReader, read_patches, write_patches
from jelly_plugins.patch.replay import replay as driver

from .targets import MAKERS, Target

FORMATS = ("jellyp", "rdfp", "trp")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_INTERVAL", 0)


def quad(text: str) -> Quad:
    return Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal(text))


def recorded(path: Path, *texts: str) -> bytes:
    """The log after each text was recorded in a patch of its own, in a store that has the log."""
    store = Store()
    with ox.record(store, path) as recorder:
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


@pytest.fixture(scope="module", params=FORMATS)
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
        steps = [logs.whole, logs.whole + logs.lost[:cut]]
        steps += [logs.whole] * seen_shorter
        steps += [logs.whole + logs.next[: cut + 3], logs.whole + logs.next]
        path.write_bytes(steps.pop(0))

        def stop(steps: list[bytes] = steps) -> bool:
            if steps:
                path.write_bytes(steps.pop(0))
                return False
            return True

        target = Target(MAKERS[kind](tmp_path))
        # The same file stays: it is written anew in place.
        target.replay(path, follow=True, stop=stop)
        assert target.objects() == ["BBBB-" + "b" * 60, "one", "three" * 30], cut
        assert target.replay(path).transactions == 0, cut


def test_a_patch_of_several_frames_that_was_removed(tmp_path: Path) -> None:
    """What was read of it is longer than a chunk."""
    path = tmp_path / "log.jellyp"
    whole = recorded(path, "one")
    store = Store()
    with ox.record(store, path) as recorder:
        recorder.extend(quad(f"lost {i}") for i in range(20_000))
    lost = path.read_bytes()
    path.write_bytes(whole)
    follower = Target(Store())
    steps = [lost[:-100], lost[:-10]]

    def stop() -> bool:
        if steps:
            path.write_bytes(steps.pop(0))
            return False
        if len(follower.rows()) == 1:
            path.write_bytes(whole)
            store = Store()
            with ox.record(store, path) as recorder:
                recorder.extend(quad(f"kept {i}") for i in range(30_000))
            return False
        return True

    follower.replay(path, follow=True, stop=stop)
    assert set(follower.objects()) == {"one"} | {f"kept {i}" for i in range(30_000)}


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

"""All or nothing: a store after errors anywhere in the source, and after the end of the process."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import JellyError, TermError, TruncatedError
from jelly_plugins.codec import Encoder, delimit
from jelly_plugins.io.streams import encode, write_bytes
from jelly_plugins.oxigraph import load
from jelly_plugins.oxigraph.loading import BATCH, SMALL

from .. import programs
from .support import (
    BlankNode,
    G,
    Iri,
    Literal,
    O,
    P,
    PhysicalType,
    Quad,
    S,
    StreamOptions,
    Triple,
    contents,
    jelly,
    numbered,
)

OLD = ox.Quad(ox.NamedNode("urn:old"), ox.NamedNode("urn:old"), ox.Literal("old"))

#: Small enough for one transaction, and large enough for a bulk load.
SIZES = [50, SMALL + 500]

VARIED = [
    Quad(S, P, O, G),
    Quad(BlankNode("b"), P, Literal("x", langtag="en"), G),
    Quad(S, P, Triple(S, P, Literal("1", datatype="urn:d")), Iri("urn:h")),
    Quad(S, Iri("http://example.org/p#q"), Literal("z" * 200), G),
]


@pytest.fixture
def filled(store: ox.Store) -> ox.Store:
    """A store with something in it."""
    store.add(OLD)
    return store


def test_truncation_at_any_byte(filled: ox.Store) -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)
    frames = list(map(delimit, encode(VARIED, options=options, frame_rows=4)))
    data = b"".join(frames)
    ends = set(accumulate(map(len, frames)))
    assert len(ends) > 2
    before = contents(filled)
    # Where a frame ends a stream may end too; no bytes at all are an empty one.
    for size in set(range(1, len(data))) - ends:
        with pytest.raises(JellyError) as caught:
            load(filled, data[:size])
        assert caught.value.source == "<bytes>"
        assert contents(filled) == before
    load(filled, data)
    assert len(filled) == len(before) + len(VARIED)


@pytest.mark.parametrize("count", SIZES)
def test_truncation_of_the_last_byte(filled: ox.Store, count: int) -> None:
    data = jelly(*numbered(count))
    with pytest.raises(TruncatedError, match="ends inside a frame"):
        load(filled, data[:-1])
    assert contents(filled) == {str(OLD)}


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize(
    "bad",
    [
        Triple(Iri("no iri"), P, O),
        Triple(S, P, Literal("x", langtag="e n")),
        Triple(Literal("x"), P, O),
        Triple(Triple(S, P, O), P, O),
    ],
)
def test_a_bad_row_in_the_last_frame(filled: ox.Store, bad: Any, count: int) -> None:
    data = jelly(*numbered(count), bad, rdf_star=True, generalized_statements=True)
    with pytest.raises(TermError) as caught:
        load(filled, data)
    assert (caught.value.frame or 0) >= count // 256
    assert caught.value.row is not None
    assert contents(filled) == {str(OLD)}


def test_no_graph_is_added_by_a_load_that_fails(filled: ox.Store) -> None:
    encoder = Encoder(StreamOptions(physical_type=PhysicalType.GRAPHS))
    encoder.start_graph(G)
    data = b"".join(map(delimit, encoder.finish()))
    with pytest.raises(JellyError):
        load(filled, data + b"\x05\x0a")
    assert list(filled.named_graphs()) == []


def test_whole_batches_stay_when_it_is_not_atomic(filled: ox.Store) -> None:
    data = write_bytes([*numbered(BATCH + 100), Triple(Iri("no iri"), P, O)])
    with pytest.raises(TermError):
        load(filled, data, atomic=False)
    assert len(filled) == BATCH + 1


#: Loads a file into the store of a folder; says when it has read all but the last bytes, then waits
#: for the given seconds, and continues.
LOADS = """
import sys, time
from pyoxigraph import Store
from jelly_plugins.oxigraph import load

folder, path, wait = sys.argv[1:]

class Source:
    def __init__(self):
        data = open(path, "rb").read()
        self.chunks = [data[:-10], data[-10:]]
    def read(self, size):
        if len(self.chunks) == 1:
            print("read", flush=True)
            time.sleep(float(wait))
        return self.chunks.pop(0) if self.chunks else b""

load(Store(folder), Source())
print("loaded", flush=True)
"""


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("after", ["nothing", "a bit", "a bit more"])
def test_all_or_nothing_after_a_kill(tmp_path: Path, count: int, after: str) -> None:
    folder = tmp_path / "store"
    store = ox.Store(folder)
    store.add(OLD)
    store.flush()
    del store
    path = tmp_path / "x.jelly"
    path.write_bytes(jelly(*numbered(count)))
    # Killed while the source is being read, or soon after, while the store is at work.
    wait = "60" if after == "nothing" else "0"
    with programs.start(LOADS, folder, path, wait) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"read\n"
        if after != "nothing":
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.002 if after == "a bit" else 0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    size = len(ox.Store(folder))
    assert size == 1 if after == "nothing" else size in (1, count + 1)


@pytest.mark.parametrize("count", [3, SMALL + 500])
def test_the_last_call_of_progress_comes_before_the_store_has_anything(
    filled: ox.Store, count: int
) -> None:
    def stop(_: int) -> None:
        raise RuntimeError("stop")

    for blank_nodes in ("fresh", "keep", "canonicalize"):
        with pytest.raises(RuntimeError, match="stop"):
            load(filled, jelly(*numbered(count)), progress=stop, blank_nodes=blank_nodes)
        assert contents(filled) == {str(OLD)}

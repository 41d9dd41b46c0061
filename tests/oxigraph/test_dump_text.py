"""Dumps by way of the store's own text: all of it or an error."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import TermError
from jelly_plugins.codec import native
from jelly_plugins.oxigraph import dump, load, write_quads

from .. import programs
from .support import jelly, numbered

#: More text than is handed on at once.
MANY = 60_000

P = ox.NamedNode("urn:p")


@pytest.fixture(scope="module")
def large() -> ox.Store:
    store = ox.Store()
    load(store, jelly(*numbered(MANY)))
    return store


class Failing(io.BytesIO):
    """Fails at some time."""

    def __init__(self, error: BaseException, after: int) -> None:
        super().__init__()
        self.error = error
        self.after = after

    def write(self, data: Any, /) -> int:
        self.after -= 1
        if self.after < 0:
            raise self.error
        return super().write(data)


@pytest.mark.parametrize("after", [0, 1, 40])
@pytest.mark.parametrize(
    "error", [OSError("full"), KeyboardInterrupt(), BrokenPipeError(), ValueError("x")], ids=repr
)
def test_whatever_the_output_raises(large: ox.Store, error: BaseException, after: int) -> None:
    with pytest.raises(type(error)) as caught:
        dump(large, Failing(error, after))
    assert caught.value is error
    assert dump(large, io.BytesIO()) == MANY


def test_an_interrupt_in_progress(large: ox.Store, tmp_path: Path) -> None:
    def progress(*_: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / "x.jelly").write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        dump(large, tmp_path / "x.jelly", progress=progress)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk(large: ox.Store) -> None:
    with pytest.raises(OSError, match="No space left"):
        dump(large, "/dev/full")


@pytest.mark.parametrize("label", ["a:b", ":", "é:ü"])
def test_a_label_that_is_none_of_n_triples_is_named(label: str) -> None:
    """pyoxigraph's constructor accepts it."""
    node = ox.BlankNode(label)
    store = ox.Store()
    store.extend(ox.Quad(ox.NamedNode(f"urn:{n}"), P, P) for n in range(10))
    store.add(ox.Quad(node, P, P))
    quads = list(store)
    with pytest.raises(TermError, match=f"_:{label} <"):
        write_quads(quads, io.BytesIO())
    for graph in (None, ox.DefaultGraph()):
        out = io.BytesIO()
        with pytest.raises(TermError, match=f"_:{label}"):
            dump(store, out, graph=graph)


def test_what_jelly_cannot_say(tmp_path: Path) -> None:
    store = ox.Store()
    store.add(ox.Quad(P, P, ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)))
    with pytest.raises(TermError, match="base direction"):
        dump(store, tmp_path / "x.jelly")
    assert list(tmp_path.iterdir()) == []


class Breaking:
    """Says some whole lines, and fails."""

    def __init__(self, store: ox.Store, error: BaseException) -> None:
        self.text = store.dump(format=ox.RdfFormat.N_QUADS) or b""
        self.error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(ox.Store(), name)

    def dump(self, output: Any, *_: Any, **__: Any) -> None:
        output.write(self.text)
        raise self.error


@pytest.mark.parametrize("count", [0, 3, MANY])
@pytest.mark.parametrize(
    "error",
    [
        OSError("Input/output error (os error 5)"),
        OSError("IO error: While pread: Invalid argument"),
        RuntimeError("Invalid argument (os error 22)"),
        SystemExit(),
    ],
    ids=repr,
)
def test_a_dump_that_breaks_off_is_none(
    count: int, error: BaseException, large: ox.Store, tmp_path: Path
) -> None:
    store = large if count == MANY else ox.Store()
    if count == 3:
        load(store, jelly(*numbered(count)))
    broken: Any = Breaking(store, error)
    if native:
        with pytest.raises(type(error)):
            dump(broken, tmp_path / "x.jelly")
        assert list(tmp_path.iterdir()) == []


INTERRUPTED = """
import os, signal, sys, threading
from jelly_plugins.oxigraph import dump, load
from pyoxigraph import Store
from tests.oxigraph.support import jelly, numbered

signal.signal(signal.SIGINT, signal.default_int_handler)
store = Store()
load(store, jelly(*numbered(60_000)))

class Output:
    def write(self, data):
        # In the middle of a dump, and never goes on.
        print("writing", flush=True)
        threading.Event().wait()

try:
    dump(store, Output())
except KeyboardInterrupt:
    print(len(store), threading.active_count(), flush=True)
"""


def test_an_interrupt_ends_a_dump() -> None:
    with programs.start(INTERRUPTED) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[0] == b"60000 1\n"
            assert process.returncode == 0
        finally:
            process.kill()

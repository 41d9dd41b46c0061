"""Dumps by way of a pipe: the store's own text, all of it or an error, and nothing left behind."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import TermError
from jelly_plugins.codec import native
from jelly_plugins.oxigraph import dump, load
from jelly_plugins.oxigraph.dumping import store_text, text_dump
from jelly_plugins.oxigraph.dumping.store_text import StoreText

from .. import programs
from .support import jelly, numbered

pytestmark = pytest.mark.skipif(
    not store_text.is_possible(), reason="stores do not write to pipes here"
)

#: More text than a pipe holds.
MANY = 60_000

P = ox.NamedNode("urn:p")


@pytest.fixture(scope="module")
def large() -> ox.Store:
    store = ox.Store()
    load(store, jelly(*numbered(MANY)))
    return store


@contextmanager
def nothing_left() -> Iterator[None]:
    """No descriptor and no thread more than before."""
    before = len(os.listdir("/dev/fd"))
    yield
    assert len(os.listdir("/dev/fd")) == before
    assert "jelly-dump" not in {thread.name for thread in threading.enumerate()}


def pieces(store: Any, graph: Any = None) -> Iterator[bytes]:
    text = StoreText(
        store, ox.RdfFormat.N_QUADS if graph is None else ox.RdfFormat.N_TRIPLES, graph
    )
    try:
        yield from text.pieces()
    finally:
        text.close()


def test_the_text_is_the_stores(large: ox.Store) -> None:
    with nothing_left():
        found = list(pieces(large))
    assert len(found) > 2
    assert b"".join(found) == large.dump(format=ox.RdfFormat.N_QUADS)


def test_the_text_of_a_graph(store: ox.Store) -> None:
    for name in (ox.NamedNode("urn:g"), ox.BlankNode("g"), ox.DefaultGraph()):
        store.add(ox.Quad(name if name != ox.DefaultGraph() else ox.BlankNode(), *2 * [P], name))
        expected = store.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=name)
        assert b"".join(pieces(store, name)) == expected
    assert list(pieces(store, ox.NamedNode("urn:absent"))) == []


def test_an_empty_store_has_no_text(store: ox.Store) -> None:
    with nothing_left():
        assert list(pieces(store)) == []


def test_both_ways_give_the_same_bytes(large: ox.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    for possible in (True, False):
        monkeypatch.setattr(text_dump, "is_possible", lambda possible=possible: possible)
        file = io.BytesIO()
        assert dump(large, file) == MANY
        written.append(file.getvalue())
    assert written[0] == written[1]


def test_a_store_is_let_go(tmp_path: Path) -> None:
    store = ox.Store(tmp_path / "let-go")
    store.add(ox.Quad(P, P, P))
    dump(store, io.BytesIO())
    del store
    # Not while anybody still has it, on disk.
    assert len(ox.Store(tmp_path / "let-go")) == 1


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
    with nothing_left(), pytest.raises(type(error)) as caught:
        dump(large, Failing(error, after))
    assert caught.value is error
    assert dump(large, io.BytesIO()) == MANY


def test_an_interrupt_in_progress(large: ox.Store, tmp_path: Path) -> None:
    def progress(*_: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / "x.jelly").write_bytes(b"before")
    with nothing_left(), pytest.raises(KeyboardInterrupt):
        dump(large, tmp_path / "x.jelly", progress=progress)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk(large: ox.Store) -> None:
    with nothing_left(), pytest.raises(OSError, match="No space left"):
        dump(large, "/dev/full")


def test_what_jelly_cannot_say(tmp_path: Path) -> None:
    store = ox.Store()
    store.add(ox.Quad(P, P, ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)))
    with nothing_left(), pytest.raises(TermError, match="base direction"):
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
        if isinstance(output, str):
            with open(output, "wb") as file:
                file.write(self.text)
        else:
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
    with nothing_left(), pytest.raises(type(error)):
        list(pieces(broken))
    if native:
        with nothing_left(), pytest.raises(type(error)):
            dump(broken, tmp_path / "x.jelly")
        assert list(tmp_path.iterdir()) == []


def test_where_pipes_give_something_else_they_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        """Writes nothing to what it is given."""

        def add(self, quad: ox.Quad) -> None: ...

        def dump(self, output: Any = None, *_: Any, **__: Any) -> bytes | None:
            return b"text" if output is None else None

    monkeypatch.setattr(store_text, "Store", Silent)
    store_text._probe.cache_clear()
    try:
        assert not store_text.is_possible()
        file = io.BytesIO()
        store = ox.Store()
        load(store, jelly(*numbered(3)))
        assert dump(store, file) == 3
    finally:
        store_text._probe.cache_clear()


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


SIGNALLED = """
import signal
from jelly_plugins.oxigraph import dump, load
from pyoxigraph import Store
from tests.oxigraph.support import jelly, numbered

signal.signal(signal.SIGPIPE, signal.SIG_DFL)
store = Store()
load(store, jelly(*numbered(60_000)))

class Output:
    def write(self, data):
        raise ValueError("full")

for _ in range(3):
    try:
        dump(store, Output())
    except ValueError as error:
        print(error, flush=True)
"""


def test_a_broken_pipe_does_not_end_the_process() -> None:
    with programs.start(SIGNALLED) as process:
        assert process.communicate(timeout=60)[0] == b"full\n" * 3
        assert process.returncode == 0

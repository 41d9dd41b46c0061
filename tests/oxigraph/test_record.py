"""Recording what changes a store: log and store say the same, whatever happens."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import ChainError, Iri, Quad, SourceError, TermError, TruncatedError
from jelly_plugins.codec import OperationKind
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, add
from jelly_plugins.oxigraph import Recorder, dump, load, positions, record, replay
from jelly_plugins.patch import Patch, read_patches, recording, undo, write_patches
from jelly_plugins.patch.replay.transactions import lock_of

from .. import programs
from ..interrupting import Interrupting
from .support import XSD, G, O, S, contents, data

record_module = sys.modules[Recorder.__module__]
N, P = ox.NamedNode("urn:n"), ox.NamedNode("urn:p")
INTEGER = ox.NamedNode(f"{XSD}integer")


def interrupt() -> None:
    raise KeyboardInterrupt


def quad(value: Any, *graph: Any) -> ox.Quad:
    return ox.Quad(N, P, ox.Literal(value), *graph)


SHAPES = [
    quad("x"),
    ox.Quad(ox.BlankNode("b"), P, ox.BlankNode("b"), ox.BlankNode("b")),
    ox.Quad(ox.BlankNode(), P, ox.Literal("x", language="EN"), N),
    ox.Quad(N, P, ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)),
    ox.Quad(N, P, ox.Literal("01", datatype=INTEGER)),
    ox.Quad(
        N, P, ox.Triple(ox.BlankNode("b"), P, ox.Triple(N, P, ox.Literal("01", datatype=INTEGER)))
    ),
    ox.Quad(N, P, ox.Literal('"} \\ \n')),
]


def kinds(path: Path) -> list[str]:
    """What each patch of a log does."""
    return [
        " ".join(
            operation.kind.code
            for operation in patch
            if operation.kind in (OperationKind.ADD, OperationKind.DELETE)
        )
        for patch in read_patches(path)
    ]


@pytest.fixture(params=["jellyp", "rdfp"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"log.{request.param}"


def test_every_change_is_a_patch(store: ox.Store, path: Path) -> None:
    with record(store, path) as recorder:
        recorder.add(quad(1))
        recorder.remove(quad(1))
        recorder.extend([quad(1), quad(2)])
        with recorder.transaction() as transaction:
            transaction.remove(quad(1))
            transaction.add(quad(3, N))
            transaction.update("INSERT { <urn:n> <urn:q> ?o } WHERE { <urn:n> <urn:p> ?o }")
            transaction.update("CLEAR SILENT GRAPH <urn:n>")
    assert kinds(path) == ["A", "D", "A A", "D A"]
    assert data(store) == {str(quad(2)), str(quad(2)).replace("urn:p", "urn:q")}
    previous = None
    for each in read_patches(path):
        assert each.prev == previous
        previous = each.id
    assert positions(store)[0].patch == f"<{previous.value}>"


@pytest.mark.parametrize("filled", [[], [0], [1], [0, 1, 2]])
def test_many_additions_to_graphs_that_have_something_and_that_have_not(
    store: ox.Store, path: Path, filled: list[int]
) -> None:
    graphs: list[Any] = [ox.DefaultGraph(), N, ox.BlankNode("g")]
    quads = [quad(str(number), graph) for graph in graphs for number in range(40)]
    there = [quads[40 * number + 7] for number in filled]
    store.extend(there)
    with record(store, path) as recorder:
        recorder.extend(quads)
    assert kinds(path) == [" ".join("A" * (len(quads) - len(there)))]
    assert data(store) == set(map(str, quads))


def test_a_store_that_cannot_be_written(
    store: ox.Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = ox.Store()
    with record(store, path) as recorder:
        recorder.add(quad(1))
        before, size = contents(store), path.stat().st_size

        def fail(*_: object, **__: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr(Recorder, "_make", fail)
        for change in (
            lambda: recorder.extend([quad(2), *SHAPES[:2]]),
            lambda: recorder.remove(quad(1)),
        ):
            with pytest.raises(OSError, match="full"):
                change()
            assert contents(store) == before
            assert path.stat().st_size == size
        monkeypatch.undo()
        recorder.extend([quad(3), *SHAPES[:2]])
    replay(copy, path)
    assert data(copy) == data(store)


@pytest.mark.parametrize("end", ["Z .\n", "Z .\nZ .\n", "Z .\n# end\n", "Z .#\n"])
def test_a_log_that_ends_in_empty_patches_or_comments(end: str, tmp_path: Path) -> None:
    path = tmp_path / "log.rdfp"
    path.write_text(f"H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n{end}")
    store, replica = ox.Store(), ox.Store()
    for number in range(2):
        with record(store, path) as recorder:
            recorder.add(quad(number))
    assert len(undo(path)) == 1
    with record(store, path) as recorder:
        recorder.add(quad(2))
    replay(replica, path)
    assert len(data(store)) == 3
    assert contents(replica) == contents(store)


def test_operations_outside_of_transactions_in_a_log_that_is_cut(path: Path) -> None:
    """Followers have applied them once another row has come."""
    first = [BEGIN, add(Quad(S, S, S, G)), COMMIT]
    outside = [add(Quad(S, S, O, G)), add(Quad(S, O, O, G))]
    last = [BEGIN, add(Quad(O, O, O, G)), COMMIT]
    second = Patch([*outside, *last], [("id", Iri("urn:2")), ("prev", Iri("urn:1"))])
    patches = [Patch([*first, *outside, *last], [("id", Iri("urn:1"))]), second]
    write_patches(patches, path, frame_rows=1)
    whole = path.read_bytes()
    for size in range(len(whole) // 4, len(whole)):
        path.write_bytes(whole[:size])
        leader, follower, late = ox.Store(), ox.Store(), ox.Store()
        for store in (leader, follower):
            with suppress(TruncatedError):
                replay(store, path)
        with record(leader, path) as recorder:
            recorder.add(quad("later"))
        for store in (follower, late):
            replay(store, path)
            assert data(store) == data(leader), size


def test_a_log_that_is_rejected_is_left_as_it_is(store: ox.Store, path: Path) -> None:
    """The patch that another program is writing stays, too."""
    with record(ox.Store(), path) as recorder:
        recorder.add(quad(1))
        recorder.add(quad(2))
    before = path.read_bytes()[:-3]
    path.write_bytes(before)
    absent = path.with_stem("absent")
    with record(store, path.with_stem("other")):
        for each in (path, absent):
            with pytest.raises(ChainError, match="is being recorded"):
                record(store, each)
    assert path.read_bytes() == before
    assert not absent.exists()


def test_what_changes_nothing_is_found_out_while_nobody_else_changes_the_store(
    store: ox.Store, path: Path
) -> None:
    with record(store, path) as recorder:
        recorder.add(quad(2))
        thread = threading.Thread(target=recorder.add, args=(quad(1),))
        with lock_of(store):
            thread.start()
            thread.join(0.1)
            store.add(quad(1))
        thread.join()
    assert kinds(path) == ["A"]


def test_threads_that_share_a_recorder(new_store: Callable[[], ox.Store], path: Path) -> None:
    """Each patch is one thread's, whole, and in the order in which the store changed."""
    store, copy = new_store(), ox.Store()
    begin = threading.Barrier(4)

    def work(recorder: Recorder, number: int) -> None:
        begin.wait()
        for turn in range(12):
            with recorder.transaction() as transaction:
                transaction.update("CLEAR SILENT GRAPH <urn:n>")
                transaction.extend([quad(f"{number} {turn} {i}", N) for i in range(3)])
                transaction.add(ox.Quad(ox.BlankNode(f"b{number}"), P, ox.Literal(turn)))
            recorder.update(f"DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o FILTER(?o = {turn - 1}) }}")
            recorder.add(quad(turn % 2))
            recorder.remove(quad(turn % 2))

    with record(store, path) as recorder:
        threads = [threading.Thread(target=work, args=(recorder, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        position = recorder.position
    assert [position] == positions(store)
    # Not even the opposite of a patch is lost.
    replay(copy, path, check_unmatched=True)
    assert data(copy) == data(store)
    assert len(list(store.quads_for_pattern(None, None, None, N))) == 3


def test_interrupts_at_any_line(path: Path) -> None:
    """Whatever line they come at, log and store go on together."""
    store, copy = ox.Store(), ox.Store()
    files = {module.__file__ for module in (record_module, recording)}
    with record(store, path) as recorder:
        at = 0
        reached = False
        while not reached:
            at += 1
            with (
                suppress(KeyboardInterrupt),
                Interrupting(at, files.__contains__, interrupt) as interrupting,
                recorder.transaction() as transaction,
            ):
                transaction.add(quad(f"{at}"))
                transaction.remove(quad(f"{at - 1}"))
            reached = not interrupting.done
            if at % 5 == 0:
                replay(copy, path)
                # What an interrupt has left is settled by the next change, if it changes nothing.
                recorder.extend([])
        recorder.add(quad("last"))
    assert at > 60
    assert positions(store) == [recorder.position]
    replay(copy, path)
    assert data(copy) == data(store)


#: Patches of several transactions, with and without TX and TC; applied twice, each would show.
SEVERAL = """H id <urn:1> .
TX .\nA _:b <urn:p> <urn:o> .\nTC .\nTX .\nA <urn:s> <urn:p> <urn:aborted> .\nTA .
TX .\nD _:b <urn:p> <urn:o> .\nTC .\nA _:c <urn:p> <urn:o> .\nD _:c <urn:p> <urn:o> .\nZ .
"""


@pytest.mark.parametrize("again", ["", SEVERAL, SEVERAL[: SEVERAL.index("TX")] + "Z .\n"])
def test_a_recorder_counts_transactions_as_a_replay_does(
    store: ox.Store, again: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.rdfp"
    path.write_text(SEVERAL + again)
    assert replay(store, path).transactions == 3
    [position] = positions(store)
    record(store, path).close()
    assert positions(store) == [position]
    assert replay(store, path).transactions == 0
    with record(store, path) as recorder:
        recorder.add(quad(1))
    assert replay(store, path).transactions == 0


def test_a_dump_of_a_store_that_is_being_recorded(tmp_path: Path) -> None:
    store, copy = ox.Store(), ox.Store()
    path, file = tmp_path / "log.jellyp", tmp_path / "dump.jelly"
    with record(store, path) as recorder:
        recorder.add(quad(0))
        with pytest.raises(ChainError, match="close the recorder, which writes"):
            dump(store, file, bookkeeping=True)
        assert dump(store, file) == 1
    dump(store, file, bookkeeping=True)
    load(copy, file, bookkeeping=True)
    assert replay(copy, path).patches == 0
    with record(store, path) as recorder:
        recorder.add(quad(1))
    assert replay(copy, path).patches == 1


def test_a_recorder_leaves_no_graph_of_its_own(tmp_path: Path) -> None:
    store = ox.Store()
    record(store, tmp_path / "log.jellyp").close()
    assert list(store.named_graphs()) == []


HOSTILE = [
    rb"<urn:a\u003E\u0020\u003Curn:b> <urn:p> <urn:o> .",
    rb"<urn:a\u003E\u0020\u003Cp\u003E\u0020\u003Co\u003E\u0020.\u0020#> <urn:p> <urn:o> .",
    rb"<urn:s> <urn:p> <urn:o\u003E\u0020\u003Cg> .",
    rb"<urn:s> <urn:p> <urn:o> <urn:g\u003E\u0020\u007D> .",
    rb'<urn:s> <urn:p> "x"^^<urn:d\u003E\u0020\u003Cg> .',
    rb"<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o\u003E\u0020> )>> .",
    # These would not be read again.
    rb"<s> <urn:p> <urn:o> .",
    rb"<urn:s> <urn:p> <urn:o> <g> .",
    rb'<urn:s> <urn:p> "x"^^<d> .',
    rb'<urn:s> <urn:p> "x"@a .',
    rb"<urn:s> <urn:p> <<( <urn:s> <p> <urn:o> )>> .",
]


@pytest.mark.parametrize("line", HOSTILE)
def test_terms_that_would_be_read_as_something_else(
    store: ox.Store, path: Path, line: bytes
) -> None:
    """What a lenient parser takes from a text is no IRI, and may hold anything."""
    hostile = list(ox.parse(line, ox.RdfFormat.N_QUADS, lenient=True))
    with record(store, path) as recorder:
        recorder.add(quad(1))
        before, size = contents(store), path.stat().st_size
        for quads in (hostile, [*hostile, quad(2)], [quad(2, N), *hostile]):
            with pytest.raises(TermError, match=r"rejects the (IRI|language tag|datatype)"):
                recorder.extend(quads)
        store.extend(hostile)
        with pytest.raises(TermError, match=r"rejects the (IRI|language tag|datatype)"):
            recorder.remove(hostile[0])
        store.remove(hostile[0])
        assert contents(store) >= before
        assert path.stat().st_size == size
        recorder.add(quad(2))
    copy = ox.Store()
    replay(copy, path)
    assert data(copy) == data(store) == {str(quad(1)), str(quad(2))}


@pytest.mark.parametrize("value", [None, "x", 1, (N, P, N), ox.Triple(N, P, N)], ids=repr)
def test_what_is_no_quad_is_rejected(tmp_path: Path, value: Any) -> None:
    store, path = ox.Store(), tmp_path / "log.jellyp"
    with record(store, path) as recorder:
        for add_first in (False, True):
            if add_first:
                # From here on, single quads go the short way.
                recorder.add(quad("first"))
            before = contents(store)
            for change in (recorder.add, recorder.remove, lambda wrong: recorder.extend([wrong])):
                with pytest.raises(TypeError, match="Quad is needed"):
                    change(value)
            with (
                pytest.raises(TypeError, match="Quad is needed"),
                recorder.transaction() as transaction,
            ):
                transaction.remove(value)
            assert contents(store) == before
        recorder.add(quad("last"))
    assert kinds(path) == ["A", "A"]


FORKING = """
import os
import sys
from jelly_plugins import SourceError
from jelly_plugins.oxigraph import record
from pyoxigraph import Literal, NamedNode, Quad, Store
first, second, third = (Quad(NamedNode("urn:n"), NamedNode("urn:p"), Literal(x)) for x in "123")
recorder = record(store := Store(sys.argv[1]), sys.argv[2])
recorder.add(first)
recorder.add(second)
asked, ask = os.pipe()
child = os.fork()
if not child:
    for change in (lambda: recorder.add(third), lambda: recorder.remove(first),
                   lambda: recorder.extend([third])):
        try:
            change()
        except SourceError as error:
            print(error, flush=True)
    os.close(ask)
    os.read(asked, 1)
    recorder.close()
    os._exit(0)
recorder.remove(first)
recorder.close()
# Nor does the child keep others from the log.
with record(store, sys.argv[2]) as recorder:
    os.write(ask, b"x")
    print(os.waitpid(child, 0)[1])
    recorder.add(first)
    recorder.remove(first)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked here")
def test_a_forked_child_leaves_store_and_log_alone(tmp_path: Path, path: Path) -> None:
    done = programs.run(FORKING, tmp_path / "store", path)
    # The position is not written there either.
    rejected = f"{path}: the log is recorded by another process\n"
    assert done.stdout == rejected * 3 + "0\n", done.stderr
    store, copy = ox.Store(tmp_path / "store"), ox.Store()
    assert data(store) == {str(quad("2"))}
    assert replay(store, path).transactions == 0
    replay(copy, path)
    assert data(copy) == data(store)


def test_a_change_inside_a_transaction_uses_its_object(tmp_path: Path) -> None:
    store = ox.Store()
    with record(store, tmp_path / "log.jellyp") as recorder:
        quad = ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.Literal("o"))
        with suppress(RuntimeError), recorder.transaction() as changes:
            changes.add(quad)
            with pytest.raises(RuntimeError, match="inside a transaction"):
                recorder.add(quad)
            raise RuntimeError
        assert quad not in store
        recorder.add(quad)
    assert quad in store


def test_closing_inside_a_transaction(tmp_path: Path) -> None:
    store = ox.Store()
    recorder = record(store, tmp_path / "log.jellyp")

    def change() -> None:
        with recorder.transaction() as changes:
            changes.add(quad("x"))
            recorder.close()

    with pytest.raises(SourceError, match="was closed"):
        change()
    assert not data(store)

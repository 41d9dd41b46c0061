"""Recorders of stores of every kind: what is recorded, what else may change the store, and a disk
that is full."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, NamedNode, Quad, Store
from rdflib import BNode, Dataset, Graph, URIRef

from jelly_plugins import ChainError, SourceError, TermError
from jelly_plugins.codec.text.ntriples import written_label
from jelly_plugins.patch import read_patches, recording
from jelly_plugins.patch.replay.transactions import lock_of
from jelly_plugins.rdflib import record

from ..oxigraph.support import ODD_LABELS
from .targets import MAKERS, RECORDED, XSD, Target

# rdflib's own evaluation of updates uses what rdflib warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ONE, TWO = "<urn:s> <urn:p> <urn:1>", "<urn:s> <urn:p> <urn:2>"


@pytest.fixture(params=RECORDED)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """An empty store of each kind."""
    return Target(RECORDED[request.param](tmp_path))


@pytest.fixture(params=["jellyp", "rdfp"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"log.{request.param}"


def codes(path: Path) -> list[str]:
    """What each patch of a log does."""
    return [
        " ".join(each.kind.code for each in patch if each.kind.code in ("A", "D"))
        for patch in read_patches(path)
    ]


def test_what_changes_nothing_is_no_patch(store: Target, path: Path) -> None:
    number, same = (f'<urn:s> <urn:p> "{form}"^^<{XSD}integer>' for form in ("01", "1"))
    with store.record(path) as recorder:
        store.change(recorder, f"A {number}")
        size = path.stat().st_size
        for rows in (
            [f"A {number}"],
            [f"A {same}"],
            [f"D {ONE}"],
            [],
            [f"A {ONE}", f"D {ONE}"],
            [f"D {same}", f"A {same}"],
        ):
            store.change(recorder, *rows)
        recorded = recorder.graph if store.is_graph else recorder
        recorded.update("DELETE WHERE { ?s <urn:none> ?o }")
        assert path.stat().st_size == size
    assert codes(path) == ["A"]


def test_the_reserved_graph_is_rejected(store: Target, path: Path) -> None:
    if not store.has_quads:
        pytest.skip("it has one graph")
    with store.record(path) as recorder:
        store.change(recorder, f"A {ONE}")
        with pytest.raises(TermError, match="bookkeeping"):
            store.change(recorder, f"A {ONE} <urn:jelly-plugins:bookkeeping>")
    assert codes(path) == ["A"]


def test_a_recorder_that_is_closed(store: Target, path: Path) -> None:
    with store.record(path) as recorder:
        store.change(recorder, f"A {ONE}")
    before = store.rows(), path.read_bytes()
    recorded = recorder.graph if store.is_graph else recorder
    changes: list[Callable[[], Any]] = [
        lambda: store.change(recorder, f"A {TWO}"),
        lambda: store.change(recorder, f"D {ONE}"),
        lambda: recorded.update("CLEAR ALL"),
    ]
    if store.is_graph:
        changes += [lambda: recorder.graph.bind("x", URIRef("urn:x")), recorder.__enter__]
    for change in changes:
        with pytest.raises(SourceError, match=r"log\.\w+: .*closed"):
            change()
    recorder.close()
    assert (store.rows(), path.read_bytes()) == before


@pytest.mark.parametrize("name", [None, "a name"])
def test_only_the_recorder_changes_its_store(store: Target, path: Path, name: str | None) -> None:
    """Whatever else changes stores says which log is being recorded, and changes nothing."""
    other = path.with_name(f"other{path.suffix}")
    log = b"H id <urn:1> .\nTX .\nA <urn:x> <urn:p> <urn:o> .\nTC .\n"
    source = path.with_name("source.rdfp")
    source.write_bytes(log)
    with store.record(path, name=name) as recorder:
        store.change(recorder, f"A {ONE}")
        [position] = store.positions()
        before = store.rows(), path.read_bytes()
        with pytest.raises(SourceError, match="another process is writing this log"):
            store.record(path)
        changes: list[Callable[[], Any]] = [
            lambda: store.backend.load(store.store, b"<urn:s> <urn:p> <urn:o> .", format="nt"),
            lambda: store.backend.set_position(store.store, position),
            lambda: store.replay(log),
            lambda: store.replay(source),
            lambda: store.record(other),
        ]
        if not store.is_graph:
            changes += [
                lambda: store.replay(path),
                lambda: store.replay(path, graph=NamedNode("urn:g")),
            ]
        for change in changes:
            with pytest.raises(ChainError, match=rf"is being recorded in (log )?.*{path.name}"):
                change()
        assert (store.rows(), path.read_bytes()) == before
        assert not other.exists()
        # This changes nothing.
        store.replay(path, dry_run=True)
        store.change(recorder, f"A {TWO}")
    assert codes(path) == ["A", "A"]
    assert store.replay(source).patches + store.replay(path, name=name).patches == 1
    with store.record(other) as recorder:
        store.change(recorder, f"D {ONE}")
    assert codes(other) == ["D"]


def test_a_log_that_is_continued(store: Target, path: Path) -> None:
    leader, copy, third = (Target(Dataset() if store.has_quads else Graph()) for _ in range(3))
    with leader.record(path) as recorder:
        leader.change(recorder, "A <urn:s> <urn:p> <urn:0>")
    # Another store recorded the first patch, which this store lacks.
    expected = ["urn:0"]
    for number in range(1, 4):
        with store.record(path) as recorder:
            assert store.objects() == expected
            rows = f"D <urn:s> <urn:p> <urn:{number - 2}>", f"A <urn:s> <urn:p> <urn:{number}>"
            store.change(recorder, *rows)
        expected = [f"urn:{each}" for each in (number - 1, number)]
    assert codes(path) == ["A", "A", "D A", "D A"]
    copy.replay(path, check_unmatched=True)
    assert copy.rows() == store.rows()
    [position] = store.positions()
    assert store.replay(path).patches == 0
    with pytest.raises(ChainError, match="the log is empty"):
        store.record(path.with_stem("new"), name=position.log)
    # A log that the store knows nothing of is applied, and then continued.
    path.unlink()
    with third.record(path) as recorder:
        third.change(recorder, f"A {ONE}")
    with store.record(path):
        assert len(store.positions()) == 2


def test_labels_that_look_like_others(store: Target, path: Path) -> None:
    """Each is one of its own; Oxigraph has those that a load would give it."""
    kept = list(map(written_label, ODD_LABELS))
    with store.record(path) as recorder:
        for label, replaced in zip(ODD_LABELS, kept, strict=True):
            if store.is_graph:
                recorder.graph.add((BNode(label), URIRef("urn:p"), URIRef("urn:o")))
            else:
                node = NamedNode("urn:p")
                recorder.add(Quad(BlankNode(replaced), node, node))
    for copy, labels in ((Target(Graph()), ODD_LABELS), (Target(Store()), kept)):
        copy.replay(path, check_unmatched=True)
        assert {row[0] for row in copy.rows()} == {f"_:{label}" for label in labels}


#: Forms of few literals, each of which is one literal for some stores, and several for others.
FORMS = [
    *(
        f'"{form}"^^<{XSD}{datatype}>'
        for datatype, forms in {
            "decimal": ("1", "1.0", "1.00", "+1.0"),
            "integer": ("1", "01"),
            "int": ("1", "+1", "2"),
            "double": ("1", "1.0", "1e0", "INF"),
            "boolean": ("1", "true"),
            "duration": ("P12M", "P1Y"),
            "hexBinary": ("0a", "0A"),
        }.items()
        for form in forms
    ),
    *('"x"', '"1"', '"x"@EN-gb', '"x"@en-GB', "_:label-", "_:label-612062"),
]
#: What Oxigraph alone has.
OXIGRAPH_FORMS = [
    r'"\"} \\ \n"@ar--rtl',
    f'<<( _:b <urn:p> <<( <urn:s> <urn:p> "01"^^<{XSD}integer> )>> )>>',
]
UPDATES = [
    f"INSERT {{ <urn:s> <urn:p> 1.0, 01, 'x', '1e0'^^<{XSD}double>, 'x'@EN }} WHERE {{ }}",
    "DELETE { <urn:s> <urn:p> 1.00, +1 } INSERT { <urn:s> <urn:p> 1.0 } WHERE { }",
    "DELETE { ?s ?p ?o } INSERT { ?s ?p ?n } WHERE { ?s ?p ?o BIND(?o + 1.0 AS ?n) }",
    "DELETE { ?s ?p 'x' } INSERT { ?s ?p 'X'@EN, '0a'^^<urn:d> } WHERE { ?s ?p 'x' }",
    "DELETE { ?s ?p ?o } INSERT { ?s <urn:q> ?o, [] } WHERE { ?s ?p ?o }",
]
#: Updates of stores with named graphs.
GRAPH_UPDATES = [
    "CLEAR SILENT GRAPH <urn:g>; INSERT { GRAPH <urn:g> { ?s ?p ?o } } WHERE { ?s ?p ?o }",
    "INSERT { GRAPH ?g { ?s <urn:q> [] } } WHERE { GRAPH ?g { ?s <urn:p> ?o } }",
    "CLEAR SILENT GRAPH <urn:g>",
    "CLEAR DEFAULT",
    "CLEAR ALL",
]


def transactions(*, quads: bool, more: bool) -> st.SearchStrategy[Any]:
    """Transactions: how each ends, and its steps; some are "alone", each step a transaction."""
    forms = st.sampled_from(FORMS + OXIGRAPH_FORMS * more)
    graphs = st.sampled_from(["", " <urn:g>", " _:label-"] if quads else [""])
    statement = st.builds("<urn:s> <urn:p> {}{}".format, forms, graphs)
    step = st.one_of(
        st.tuples(st.sampled_from(["add", "remove"]), st.lists(statement, min_size=1, max_size=1)),
        st.tuples(st.sampled_from(["add all", "remove all"]), st.lists(statement, max_size=4)),
        st.tuples(st.just("update"), st.sampled_from(UPDATES + GRAPH_UPDATES * quads)),
    )
    way = st.sampled_from(["whole", "whole", "alone", "fail", "reopen"])
    return st.lists(st.tuples(way, st.lists(step, max_size=6)), max_size=5)


def change(store: Target, target: Any, verb: str, given: Any) -> None:
    """Take a step in a recorder's graph, or in a transaction or recorder of an Oxigraph store."""
    if verb == "update":
        target.update(given)
        return
    quads = [store.quad(each) for each in given]
    if verb in ("add", "remove"):
        getattr(target, verb)(quads[0])
    elif verb == "remove all" and hasattr(target, "remove_all"):
        target.remove_all(quads)
    elif not store.is_graph:
        target.extend(quads)
    elif verb == "add all":
        graphs = (target.get_context(each[3]) if each[3:] else target for each in quads)
        target.addN((*each[:3], graph) for each, graph in zip(quads, graphs, strict=True))
    elif quads:
        target.set(quads[0][:3])
    else:
        target.remove((URIRef("urn:s"), None, None))


@pytest.mark.parametrize("kind", [kind for kind in RECORDED if "disk" not in kind])
@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_replica_is_equal_after_every_transaction(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    """Whatever forms of a literal a transaction adds and deletes."""
    path = tmp_path_factory.mktemp("replica") / "log.jellyp"
    store, replica = (Target(RECORDED[kind](path)) for _ in range(2))
    recorder = store.record(path)
    for way, steps in data.draw(transactions(quads=store.has_quads, more=not store.is_graph)):
        before = store.rows()
        if way == "reopen":
            recorder.close()
            recorder = store.record(path)
        if store.is_graph:
            for step in steps:
                change(store, recorder.graph, *step)
                if way == "alone":
                    recorder.commit()
            (recorder.rollback if way == "fail" else recorder.commit)()
        elif way == "alone":
            for step in steps:
                change(store, recorder, *step)
        else:
            with suppress(InterruptedError), recorder.transaction() as transaction:
                for step in steps:
                    change(store, transaction, *step)
                if way == "fail":
                    raise InterruptedError
        replica.replay(path, check_unmatched=True)
        assert replica.rows() == store.rows()
        assert way != "fail" or store.rows() == before
    recorder.close()


# Locks, with threads and where processes fork


STORE = object()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_wait_for_threads_of_its_parent() -> None:
    held, done = Event(), Event()

    def hold() -> None:
        with lock_of(STORE):
            held.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)
        with lock_of(STORE):
            os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_threads_find_one_recorder(tmp_path: Path) -> None:
    graph = Graph()
    ready = Barrier(8)
    opened: list[Any] = []

    def run(number: int) -> None:
        ready.wait()
        with suppress(ChainError):
            opened.append(record(graph, tmp_path / f"{number}.jellyp"))

    threads = [Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [recorder] = opened
    recorder.close()


# A disk that is full: what was not written whole is not in the log, then or later


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


def add(target: Target, recorder: Any, number: int, size: int) -> None:
    """Add a statement with a literal of so many characters."""
    target.change(recorder, f'A <urn:{number}> <urn:p> "{"x" * size}"')


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

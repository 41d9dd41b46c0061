"""``jelly load`` and ``jelly dump``: into stores on disk, and out of them; stores that others use,
that cannot be written to, or that something was left in."""

from __future__ import annotations

import gc
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store

from jelly_plugins import Iri, StreamOptions, Triple, read, write
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, write_patches
from jelly_plugins.tools.compare import compare_datasets

from .command import EX, QUADS, TRIPLES, Done, assert_failed, jelly, quads_file, triples_file

QUAD = Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o"))
#: Statements of :data:`TRIPLES` with blank nodes, which are new for each file.
WITH_NODES = 3


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The folder of a store of one quad."""
    opened = Store(str(tmp_path / "store"))
    opened.add(QUAD)
    return tmp_path / "store"


def size(folder: Path) -> int:
    # The command runs in this process: its store is closed once nothing refers to it.
    gc.collect()
    return len(Store.read_only(str(folder)))


def log(folder: Path) -> Path:
    write_patches([Patch([BEGIN, *map(add, TRIPLES), COMMIT])], folder / "x.jellyp")
    return folder / "x.jellyp"


def test_there_and_back(tmp_path: Path) -> None:
    folder, copy, path = tmp_path / "store", tmp_path / "copy.jelly.gz", quads_file(tmp_path)
    done = jelly("load", path, "--store", folder)
    assert (done.code, done.text, done.err) == (0, f"{path}: 8 statements\n", "")
    done = jelly("load", "-", "--store", tmp_path / "other", stdin=path.read_bytes())
    assert (done.code, done.text, done.err) == (0, "<stdin>: 8 statements\n", "")
    assert jelly("dump", "--store", folder, "-o", copy).code == 0
    assert compare_datasets(QUADS, read(copy))
    assert jelly("dump", "--store", folder).out != b""


def test_several_files_and_json(tmp_path: Path) -> None:
    folder, text = tmp_path / "store", tmp_path / "c.nt"
    a, b = triples_file(tmp_path, "a.jelly"), triples_file(tmp_path, "b.jelly")
    jelly("convert", a, "-o", text)
    done = jelly("load", a, b, text, "--store", folder, "--json", "--no-atomic")
    assert [json.loads(line) for line in done.text.splitlines()] == [
        {"source": str(a), "statements": 7},
        {"source": str(b), "statements": 7},
        {"source": str(text), "statements": 7},
    ]
    assert size(folder) == len(TRIPLES) + 2 * WITH_NODES
    assert jelly("load", text, "--store", folder).text == f"{text}: loaded\n"


@pytest.mark.parametrize(("nodes", "more"), [("fresh", WITH_NODES), ("keep", 0)])
def test_blank_nodes(nodes: str, more: int, tmp_path: Path) -> None:
    folder, path = tmp_path / "store", triples_file(tmp_path)
    for _ in range(2):
        assert jelly("load", path, "--store", folder, "--blank-nodes", nodes).code == 0
    assert size(folder) == len(TRIPLES) + more


def test_one_graph(tmp_path: Path) -> None:
    folder, graph, path = tmp_path / "store", EX + "into", triples_file(tmp_path)
    assert jelly("load", path, "--store", folder, "--graph", graph).code == 0
    assert compare_datasets(TRIPLES, read(jelly("dump", "--store", folder, "--graph", graph).out))
    other = jelly("dump", "--store", folder, "--graph", EX + "other")
    assert_failed(other, 2, "has no such graph")
    quads = quads_file(tmp_path, "q.jelly")
    assert_failed(jelly("load", quads, "--store", folder, "--graph", graph), 1, "graph")
    assert_failed(jelly("load", path, "--store", folder, "--graph", "no iri"), 2, "--graph")


def test_quoted_triples_are_reified_on_request(tmp_path: Path) -> None:
    folder, path = tmp_path / "store", tmp_path / "x.jelly"
    quoted = Triple(Iri("urn:a"), Iri("urn:b"), Iri("urn:c"))
    write([Triple(quoted, Iri("urn:p"), Iri("urn:o"))], path, options=StreamOptions(rdf_star=True))
    rejected = jelly("load", path, "--store", folder)
    assert_failed(rejected, 1, "frame 0", "quoted triple as subject")
    gc.collect()
    assert jelly("load", path, "--store", folder, "--reify").code == 0
    assert size(folder) == 2


def test_folders_that_are_no_stores(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    for arguments in (
        ("dump", "--store", tmp_path / "absent"),
        ("dump", "--store", tmp_path),
        ("load", path, "--store", tmp_path),
        ("patch", "apply", log(tmp_path), "--store", tmp_path),
    ):
        assert_failed(jelly(*arguments), 2, "an Oxigraph store")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.jelly", "x.jellyp"]


@pytest.mark.parametrize(
    "reading",
    [
        lambda store, folder: jelly("dump", "--store", store, "-o", folder / "x.jelly"),
        lambda store, _: jelly("patch", "status", "--store", store),
        lambda store, folder: jelly("patch", "diff", store, triples_file(folder)),
        lambda store, folder: jelly("patch", "apply", log(folder), "--store", store, "--dry-run"),
    ],
    ids=["dump", "status", "diff", "dry run"],
)
def test_what_reads_does_not_need_the_store_for_itself(
    reading: Callable[[Path, Path], Done], store: Path, tmp_path: Path
) -> None:
    in_use = Store(str(store))
    in_use.add(QUAD)
    assert reading(store, tmp_path).code == 0


def test_a_store_in_use_is_an_error_of_one_line(store: Path, tmp_path: Path) -> None:
    in_use = Store(str(store))
    path = triples_file(tmp_path)
    assert_failed(jelly("load", path, "--store", store), 1, str(store), "another process")
    assert_failed(jelly("patch", "apply", log(tmp_path), "--store", store), 1, "another process")
    assert len(in_use) == 1


def test_a_dump_changes_no_file(store: Path, tmp_path: Path) -> None:
    # Only files of the log of what happens may be written, where they can be.
    def files() -> dict[str, tuple[int, int]]:
        return {
            entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size)
            for entry in os.scandir(store)
            if not entry.name.startswith("LOG")
        }

    before = files()
    assert jelly("dump", "--store", store, "-o", tmp_path / "x.jelly").code == 0
    assert files() == before
    assert len(list(read(tmp_path / "x.jelly"))) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write there")
def test_a_store_on_a_disk_that_is_read_only(store: Path, tmp_path: Path) -> None:
    os.chmod(store, stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert jelly("dump", "--store", store, "-o", tmp_path / "x.jelly").code == 0
    finally:
        os.chmod(store, stat.S_IRWXU)


def test_a_bad_file_changes_nothing_and_those_before_it_stay(tmp_path: Path) -> None:
    good, bad, folder = triples_file(tmp_path), tmp_path / "bad.jelly", tmp_path / "store"
    bad.write_bytes(good.read_bytes()[:-10])
    for command in (("load",), ("patch", "apply")):
        assert_failed(jelly(*command, bad, "--store", folder), 1, "bad.jelly")
        assert size(folder) == 0
    assert jelly("load", good, bad, "--store", folder).code == 1
    assert size(folder) == len(TRIPLES)
    absent, new = tmp_path / "absent", tmp_path / "new"
    for command in (("load",), ("patch", "apply")):
        assert_failed(jelly(*command, absent, "--store", new), 1, "absent: No such file")
        assert not new.exists()


def test_a_damaged_store_is_named(store: Path, tmp_path: Path) -> None:
    (store / "CURRENT").write_text("x")
    for arguments in (
        ("dump", "--store", store),
        ("load", triples_file(tmp_path), "--store", store),
        ("query", "ASK {}", "--store", store),
    ):
        assert_failed(jelly(*arguments), 1, "the store cannot be opened")

"""Stores on disk that others use, that cannot be written to, or that something was left in."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store

from jelly_plugins import read
from jelly_plugins.formats.table import read_statements
from jelly_plugins.io.names import Format
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, write_patches
from jelly_plugins.reserved import BOOKKEEPING_IRI
from jelly_plugins.tools.compare import compare_datasets

from .command import QUADS, TRIPLES, assert_failed, jelly, quads_file, triples_file

QUAD = Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The folder of a store of one quad."""
    opened = Store(str(tmp_path / "store"))
    opened.add(QUAD)
    return tmp_path / "store"


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
    reading: Callable[[Path, Path], object], store: Path, tmp_path: Path
) -> None:
    in_use = Store(str(store))
    in_use.add(QUAD)
    done = reading(store, tmp_path)
    assert done.code == 0  # type: ignore[attr-defined]


def log(folder: Path) -> Path:
    write_patches([Patch([BEGIN, *map(add, TRIPLES), COMMIT])], folder / "x.jellyp")
    return folder / "x.jellyp"


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


def test_a_store_in_use_is_said_to_be(store: Path, tmp_path: Path) -> None:
    in_use = Store(str(store))
    path = triples_file(tmp_path)
    assert_failed(jelly("load", path, "--store", store), 1, str(store), "another process")
    assert_failed(jelly("patch", "apply", log(tmp_path), "--store", store), 1, "another process")
    assert len(in_use) == 1


def test_what_a_killed_load_has_left_goes_away(store: Path, tmp_path: Path) -> None:
    left = store / "bulk-0123456789.sst"
    left.write_bytes(b"x" * 1000)
    assert jelly("dump", "--store", store, "-o", tmp_path / "x.jelly").code == 0
    assert left.exists()  # It may be of a load that is running.
    assert jelly("load", triples_file(tmp_path, "y.jelly"), "--store", store).code == 0
    assert not left.exists()


def test_nothing_is_loaded_from_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    good = triples_file(tmp_path)
    bad, store = tmp_path / "bad.jelly", tmp_path / "made"
    bad.write_bytes(good.read_bytes()[:-10])
    for command in (("load",), ("patch", "apply")):
        assert_failed(jelly(*command, bad, "--store", store), 1, "bad.jelly")
        # The command runs in this process: its store is closed once nothing refers to it.
        gc.collect()
    assert jelly("query", "ASK { ?s ?p ?o }", "--store", store).out == b"false\n"
    assert jelly("load", good, "--store", store).code == 0


def test_what_was_loaded_before_stays(tmp_path: Path) -> None:
    good, bad = triples_file(tmp_path), tmp_path / "bad.jelly"
    bad.write_bytes(good.read_bytes()[:-10])
    assert jelly("load", good, bad, "--store", tmp_path / "store").code == 1
    # The command runs in this process: its store is closed once nothing refers to it.
    gc.collect()
    assert len(Store.read_only(str(tmp_path / "store"))) == len(TRIPLES)


@pytest.mark.parametrize("form", Format)
def test_dump_writes_every_format(form: Format, tmp_path: Path) -> None:
    folder, out = tmp_path / "store", tmp_path / f"dumped.{form}"
    assert jelly("load", quads_file(tmp_path), "--store", folder).code == 0
    # A graph that replays keep, which is hidden from users.
    Store(str(folder)).add(
        Quad(NamedNode("urn:s"), NamedNode("urn:p"), NamedNode("urn:o"), NamedNode(BOOKKEEPING_IRI))
    )
    if form.has_graphs:
        assert jelly("dump", "--store", folder, "-o", out).code == 0
        assert jelly("convert", out, "-o", tmp_path / "again.nq").code == 0
        assert compare_datasets(QUADS, read_nquads(tmp_path / "again.nq"))
    else:
        done = jelly("dump", "--store", folder, "-o", out)
        assert_failed(done, 1, f"{folder}: a quad", "in a named graph")
    graph = ["--graph", "http://example.org/g"]
    assert jelly("dump", "--store", folder, "-o", out, "--force", *graph).code == 0
    assert jelly("convert", out, "-o", tmp_path / "graph.nq").code == 0
    assert compare_datasets(TRIPLES, read_nquads(tmp_path / "graph.nq"))


def read_nquads(path: Path) -> list[Any]:
    return list(read_statements(path, Format.N_QUADS))


def test_a_damaged_store_is_named(tmp_path: Path) -> None:
    source, folder = tmp_path / "in.nt", tmp_path / "store"
    source.write_text("<urn:s> <urn:p> <urn:o> .\n")
    jelly("load", source, "--store", folder)
    (folder / "CURRENT").write_text("x")
    for arguments in (
        ("dump", "--store", folder),
        ("load", source, "--store", folder),
        ("query", "ASK {}", "--store", folder),
    ):
        assert_failed(jelly(*arguments), 1, "the store cannot be opened")

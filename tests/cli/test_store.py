"""``jelly load`` and ``jelly dump``."""

from __future__ import annotations

import json
from pathlib import Path

from pyoxigraph import Store

from jelly_plugins import Iri, Literal, StreamOptions, Triple, read, write
from jelly_plugins.tools.compare import compare_datasets

from .command import (
    EX,
    QUADS,
    TRIPLES,
    assert_failed,
    jelly,
    jelly_process,
    quads_file,
    triples_file,
)


def test_there_and_back(tmp_path: Path) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy.jelly.gz"
    path = quads_file(tmp_path)
    done = jelly("load", path, "--store", folder)
    assert (done.code, done.text, done.err) == (0, f"{path}: 8 statements\n", "")
    done = jelly("load", "-", "--store", tmp_path / "other", stdin=path.read_bytes())
    assert (done.code, done.text, done.err) == (0, "<stdin>: 8 statements\n", "")
    assert jelly("dump", "--store", folder, "-o", copy).code == 0
    comparison = compare_datasets(QUADS, read(copy))
    assert comparison, comparison
    assert jelly("dump", "--store", folder).out != b""


def test_several_files_and_json(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    a, b = triples_file(tmp_path, "a.jelly"), triples_file(tmp_path, "b.jelly")
    done = jelly("load", a, b, "--store", folder, "--json", "--no-atomic")
    assert [json.loads(line) for line in done.text.splitlines()] == [
        {"source": str(a), "statements": 7},
        {"source": str(b), "statements": 7},
    ]
    # Four statements have blank nodes, which are new for each file.
    nodes = sum("_:" in str(triple) for triple in _lines(TRIPLES))
    assert len(Store(str(folder))) == len(TRIPLES) + nodes


def _lines(statements: list[Triple]) -> list[str]:
    from jelly_plugins.codec.text.ntriples import statement_text

    return [statement_text(statement) for statement in statements]


def test_kept_blank_nodes_load_once(tmp_path: Path) -> None:
    folder, path = tmp_path / "store", triples_file(tmp_path)
    for _ in range(2):
        assert jelly("load", path, "--store", folder, "--blank-nodes", "keep").code == 0
    assert len(Store(str(folder))) == len(TRIPLES)


def test_one_graph(tmp_path: Path) -> None:
    folder, graph = tmp_path / "store", EX + "into"
    path = triples_file(tmp_path)
    assert jelly("load", path, "--store", folder, "--graph", graph).code == 0
    one = jelly("dump", "--store", folder, "--graph", graph).out
    comparison = compare_datasets(TRIPLES, read(one))
    assert comparison, comparison
    assert list(read(jelly("dump", "--store", folder, "--graph", EX + "other").out)) == []
    quads = quads_file(tmp_path, "q.jelly")
    assert_failed(jelly("load", quads, "--store", folder, "--graph", graph), 1, "graph")
    assert_failed(jelly("load", path, "--store", folder, "--graph", "no iri"), 2, "--graph")


def test_a_bad_file_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    folder, path = tmp_path / "store", triples_file(tmp_path)
    jelly("load", path, "--store", folder)
    bad = tmp_path / "bad.jelly"
    write([Triple(Iri("urn:s"), Iri("urn:p"), Literal(str(n))) for n in range(1000)], bad)
    bad.write_bytes(bad.read_bytes()[:-1])
    assert_failed(jelly_process("load", bad, "--store", folder), 1, str(bad), "frame")
    assert len(Store(str(folder))) == len(TRIPLES)


def test_quoted_triples_are_reified_on_request(tmp_path: Path) -> None:
    folder, path = tmp_path / "store", tmp_path / "x.jelly"
    quoted = Triple(Iri("urn:a"), Iri("urn:b"), Iri("urn:c"))
    write([Triple(quoted, Iri("urn:p"), Iri("urn:o"))], path, options=StreamOptions(rdf_star=True))
    rejected = jelly_process("load", path, "--store", folder)
    assert_failed(rejected, 1, "frame 0", "quoted triple as subject")
    assert jelly("load", path, "--store", folder, "--reify").code == 0
    assert len(Store(str(folder))) == 2


def test_files_are_not_clobbered(tmp_path: Path) -> None:
    folder, target = tmp_path / "store", tmp_path / "x.jelly"
    jelly("load", triples_file(tmp_path, "source.jelly"), "--store", folder)
    target.write_text("kept")
    assert_failed(jelly("dump", "--store", folder, "-o", target), 2, "--force")
    assert target.read_text() == "kept"
    assert jelly("dump", "--store", folder, "-o", target, "-f").code == 0


def test_folders_that_are_no_stores(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    assert_failed(jelly("dump", "--store", tmp_path / "absent"), 2, "an Oxigraph store")
    assert_failed(jelly("dump", "--store", tmp_path), 2, "an Oxigraph store")
    assert_failed(jelly("load", path, "--store", tmp_path), 2, "an Oxigraph store")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_store_in_use_is_an_error_of_one_line(tmp_path: Path) -> None:
    folder, path = tmp_path / "store", triples_file(tmp_path)
    store = Store(str(folder))
    store.flush()
    assert_failed(jelly("load", path, "--store", folder), 1, "lock")

"""``jelly patch`` and its commands."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
from itertools import pairwise
from pathlib import Path

import pytest
from pyoxigraph import Store

from jelly_plugins import Iri
from jelly_plugins.codec import PatchOptions, PatchStatementType, PatchStreamType
from jelly_plugins.oxigraph import count_quads, positions
from jelly_plugins.patch import PatchReader, check, read_patches

from .command import assert_failed, end, jelly, jelly_process, started, triples_file, wait_until

#: A log of two patches; the second has an aborted transaction.
LOG = b"""\
H id <urn:1> .
TX .
PA "ex" <urn:ex:> .
A <urn:ex:s> <urn:ex:p> "one" .
A <urn:ex:s> <urn:ex:p> "two" .
TC .
Z .
H id <urn:2> .
H prev <urn:1> .
TX .
D <urn:ex:s> <urn:ex:p> "two" .
A <urn:ex:s> <urn:ex:p> "three" <urn:g> .
TC .
TX .
A <urn:ex:s> <urn:ex:p> "never" .
TA .
"""
WITHOUT_IDS = b'TX .\nA <urn:s> <urn:p> "%d" .\nTC .\n'


def log_file(folder: Path, name: str = "log.rdfp", text: bytes = LOG) -> Path:
    path = folder / name
    path.write_bytes(text)
    return path


def literals(folder: Path) -> set[str]:
    """The literals in a store's data."""
    # A command that failed in this process may have left the store open, in a cycle.
    gc.collect()
    return {quad.object.value for quad in Store(str(folder)) if quad.predicate.value == "urn:ex:p"}


def options_of(path: Path) -> PatchOptions:
    with PatchReader(path) as rows:
        next(rows)
        assert rows.options is not None
        return rows.options


@pytest.mark.parametrize("name", ["convert", "invert", "compact"])
def test_an_error_leaves_the_output_as_it_was(name: str, tmp_path: Path) -> None:
    log, target = log_file(tmp_path), tmp_path / "x.jellyp"
    target.write_text("kept")
    truncated = log_file(tmp_path, "truncated.rdfp", LOG[:-4])
    for source in (truncated, tmp_path / "absent.rdfp"):
        assert_failed(jelly("patch", name, source, "-o", target, "-f"), 1, source.name)
    assert target.read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["log.rdfp", "truncated.rdfp", "x.jellyp"]
    assert jelly("patch", name, log, "-o", target, "-f").code == 0
    assert list(read_patches(target))


# convert


def test_stdin_and_stdout(tmp_path: Path) -> None:
    path = log_file(tmp_path)
    binary = jelly_process("patch", "convert", path)
    assert list(read_patches(binary.out)) == list(read_patches(path))
    assert jelly_process("patch", "convert", "-", stdin=binary.out).out == LOG
    assert jelly_process("patch", "convert", "-", "--to", "jellyp", stdin=LOG).out == binary.out


def test_options_of_the_stream(tmp_path: Path) -> None:
    path = log_file(tmp_path, text=WITHOUT_IDS % 1)
    flat, back = tmp_path / "flat.jellyp", tmp_path / "back.jellyp"
    triples, small = ("--statement-type", "triples"), ("--preset", "small")
    flags = ("--stream-type", "flat", *triples, *small, "--rdf-star")
    done = jelly("patch", "convert", path, "-o", flat, *flags)
    assert done.code == 0, done
    options = options_of(flat)
    assert options.stream_type is PatchStreamType.FLAT
    assert options.statement_type is PatchStatementType.TRIPLES
    assert options.rdf_star
    assert (options.max_name_table_size, options.max_prefix_table_size) == (128, 16)
    assert jelly("patch", "convert", flat, "-o", back).code == 0
    assert options_of(back) == options
    assert list(read_patches(back)) == list(read_patches(flat))
    log = log_file(tmp_path, "quads.rdfp")
    assert_failed(jelly("patch", "convert", log, *triples), 1, "graph")


def test_several_logs_become_one(tmp_path: Path) -> None:
    logs = [log_file(tmp_path)]
    logs += [log_file(tmp_path, f"{n}.rdfp", WITHOUT_IDS % n) for n in range(2)]
    assert jelly("patch", "convert", *logs, "-o", tmp_path / "x.jellyp").code == 0
    expected = [patch for log in logs for patch in read_patches(log)]
    assert list(read_patches(tmp_path / "x.jellyp")) == expected


def test_logs_that_do_not_follow_each_other_are_rejected(tmp_path: Path) -> None:
    path, target = log_file(tmp_path), tmp_path / "x.jellyp"
    other = log_file(tmp_path, "other.rdfp", b"H id <urn:4> .\nH prev <urn:3> .\nTX .\nTC .\n")
    for name in ("convert", "compact"):
        assert_failed(jelly("patch", name, path, other, "-o", target), 1, "urn:3", "urn:2")
    assert not target.exists()


# apply and status


def test_apply_once(tmp_path: Path) -> None:
    path, folder = log_file(tmp_path), tmp_path / "store"
    done = jelly("patch", "apply", path, "--store", folder, "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.text)
    assert (report["patches"], report["transactions"]) == (2, 2)
    assert report["position"]["patch"] == "<urn:2>"
    assert literals(folder) == {"one", "three"}
    again = jelly("patch", "apply", path, "--store", folder)
    assert again.code == 0
    assert "operations    0\n" in again.text
    assert "  patch         <urn:2>\n" in again.text
    assert literals(folder) == {"one", "three"}


def test_apply_a_part_then_the_rest(tmp_path: Path) -> None:
    path, folder = log_file(tmp_path), tmp_path / "store"
    assert jelly("patch", "apply", path, "--store", folder, "--until", "urn:1").code == 0
    assert literals(folder) == {"one", "two"}
    assert jelly("patch", "apply", "-", "--store", folder, stdin=LOG).code == 0
    assert literals(folder) == {"one", "three"}
    done = jelly("patch", "apply", path, "--store", folder, "--until", "<urn:3>")
    assert done.code == 1
    assert "urn:3" in done.err
    assert done.err.count("\n") == 1


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    path, folder = log_file(tmp_path), tmp_path / "store"
    done = jelly("patch", "apply", path, "--store", folder, "--dry-run")
    assert done.code == 0
    assert "dry run       yes\n" in done.text
    assert not folder.exists()
    jelly("patch", "apply", path, "--store", folder, "--until", "urn:1")
    done = jelly("patch", "apply", path, "--store", folder, "--dry-run", "--json")
    assert json.loads(done.text)["transactions"] == 1
    assert literals(folder) == {"one", "two"}


def test_apply_options(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    text = LOG.replace(b'D <urn:ex:s> <urn:ex:p> "two"', b'D <urn:ex:s> <urn:ex:p> "absent"')
    path = log_file(tmp_path, text=text)
    done = jelly_process("patch", "apply", path, "--store", folder, "--check-unmatched")
    assert_failed(done, 1, "urn:2", "absent")
    assert literals(folder) == {"one", "two"}
    gap = log_file(tmp_path, "gap.rdfp", LOG[LOG.index(b"H id <urn:2>") :].replace(b"1", b"0"))
    done = jelly_process("patch", "apply", gap, "--store", folder)
    assert_failed(done, 1, "urn:0", "urn:1")
    assert literals(folder) == {"one", "two"}
    assert jelly("patch", "apply", gap, "--store", folder, "--no-check-prev").code == 0
    assert literals(folder) == {"one", "three"}

    named = tmp_path / "named"
    one = log_file(tmp_path, "one.rdfp", WITHOUT_IDS % 1)
    arguments = ["--store", named, "--name", "my log", "--graph", "urn:into"]
    assert jelly("patch", "apply", one, *arguments).code == 0
    store = Store(str(named))
    assert [each.log for each in positions(store)] == ["my log"]
    assert "<urn:into>" in {str(graph) for graph in store.named_graphs()}


def test_status(tmp_path: Path) -> None:
    path, folder = log_file(tmp_path), tmp_path / "store"
    jelly("patch", "apply", path, "--store", folder)
    text = jelly("patch", "status", "--store", folder).text
    assert "quads  2\n" in text
    assert "logs\n  log <urn:1>, patch <urn:2>," in text
    assert "namespaces\n  ex  urn:ex:\n" in text
    report = json.loads(jelly("patch", "status", "--store", folder, "--json").text)
    assert report["quads"] == count_quads(Store(str(folder))) == 2
    assert [log["patch"] for log in report["logs"]] == ["<urn:2>"]
    assert report["namespaces"] == {"ex": "urn:ex:"}


def test_follow_until_interrupted(tmp_path: Path) -> None:
    middle = LOG.index(b"H id <urn:2>")
    path, folder = log_file(tmp_path, text=LOG[:middle]), tmp_path / "store"

    with started("patch", "apply", path, "--store", folder, "--follow") as process:
        wait_until(lambda: positions_of(folder) == ["<urn:1>"])
        with path.open("ab") as log:
            log.write(LOG[middle:])
        wait_until(lambda: positions_of(folder) == ["<urn:2>"])
        assert end(process, signal.SIGINT).code == 130
    assert literals(folder) == {"one", "three"}


def positions_of(folder: Path) -> list[str]:
    """The last patches of the logs of a store that another process may have open."""
    done = jelly("patch", "status", "--store", folder, "--json")
    return [log["patch"] for log in json.loads(done.text)["logs"]] if done.code == 0 else []


# diff, invert, compact


def test_there_and_back_by_a_difference(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nt", tmp_path / "new.ttl"
    old.write_text('<urn:s> <urn:ex:p> "old" .\n<urn:s> <urn:ex:p> "same" .\n')
    new.write_text('@prefix : <urn:ex:> . <urn:s> :p "new", "same" .')
    there, back, folder = tmp_path / "there.jellyp", tmp_path / "back.rdfp", tmp_path / "store"
    assert jelly("patch", "diff", old, new, "-o", there, "--prev", "urn:0").code == 0
    [patch] = read_patches(there)
    assert patch.id.value.startswith("urn:uuid:")
    assert patch.prev == Iri("urn:0")
    assert len(patch.operations) == 4

    jelly("convert", old, "-o", tmp_path / "old.jelly")
    jelly("load", tmp_path / "old.jelly", "--store", folder)
    done = jelly("patch", "apply", there, "--store", folder, "--check-unmatched", "--no-check-prev")
    assert done.code == 0, done
    assert literals(folder) == {"new", "same"}
    assert jelly("patch", "diff", folder, new).text.count("\n") == 2  # the id, and the end
    assert jelly("patch", "invert", there, "-o", back).code == 0
    assert jelly("patch", "apply", back, "--store", folder, "--check-unmatched").code == 0
    assert literals(folder) == {"old", "same"}


def test_diff_of_named_formats(tmp_path: Path) -> None:
    old, new = triples_file(tmp_path), tmp_path / "new.txt"
    text = jelly("convert", old, "--to", "nt").out
    new.write_bytes(text)
    jelly("convert", old, "-o", tmp_path / "old.nt")
    done = jelly("patch", "diff", tmp_path / "old.nt", "-", "--from", "nt", stdin=text)
    assert (done.code, done.text.count("\n")) == (0, 2)
    done = jelly("patch", "diff", old, tmp_path / "old.nt", "--id", "<urn:mine>")
    assert done.text == "H id <urn:mine> .\nZ .\n"
    assert_failed(jelly("patch", "diff", old, old, "--blank-nodes", "reject"), 1, "blank")


def test_a_store_that_was_loaded_from_a_file_follows_by_differences(tmp_path: Path) -> None:
    files = []
    for number, age in enumerate((1, 2, 1)):
        files.append(tmp_path / f"{number}.ttl")
        nodes = f'[ <urn:name> "A" ; <urn:age> {age} ], [ <urn:name> "B" ], []'
        files[-1].write_text(f"<urn:s> <urn:author> {nodes} ; <urn:list> (<urn:{age}> <urn:3>) .")
    folder, random = tmp_path / "store", tmp_path / "random"
    canonical = ("--blank-nodes", "canonicalize")
    assert jelly("load", files[0], "--store", folder, *canonical).code == 0
    assert jelly("load", files[0], "--store", random).code == 0
    for old, new in pairwise(files):
        patch = tmp_path / f"{new.stem}.rdfp"
        made = jelly("patch", "diff", old, new, "-o", patch)
        assert made.code == 0
        assert "canonical labels" in made.err
        applied = ("patch", "apply", patch, "--store")
        assert jelly(*applied, folder, "--no-check-prev", "--check-unmatched").code == 0
        assert "TX" not in jelly("patch", "diff", folder, new).text
        # Labels of stores are as they are.
        between = jelly("patch", "diff", folder, random)
        assert ("TX" in between.text, between.err) == (True, "")
        assert_failed(jelly(*applied, random), 1, "may have other labels")
    done = jelly(*applied, random, "--no-check-blank-nodes")
    assert done.code == 0
    assert re.search(r"^unmatched +[1-9]", done.text, re.MULTILINE)


def test_compact_a_log(tmp_path: Path) -> None:
    path, folder, target = log_file(tmp_path), tmp_path / "store", tmp_path / "net.jellyp"
    assert jelly("patch", "compact", path, "-o", target).code == 0
    [patch] = read_patches(target)
    assert (patch.id, patch.prev) == (Iri("urn:2"), None)
    jelly("patch", "apply", target, "--store", folder)
    assert literals(folder) == {"one", "three"}
    exact = jelly("patch", "compact", path, "--exact").text
    assert '"two"' not in exact
    assert '"three"' in exact


# show and check


def test_show(tmp_path: Path) -> None:
    done = jelly("patch", "show", log_file(tmp_path))
    assert (done.code, done.err) == (0, "")
    assert done.text.splitlines()[:5] == [
        "# patch 1",
        "H id <urn:1> .",
        "TX .",
        'PA "ex" <urn:ex:> .',
        'A <urn:ex:s> <urn:ex:p> "one" .',
    ]
    shown = list(read_patches(done.out))
    assert shown == list(read_patches(LOG))


def test_show_in_figures(tmp_path: Path) -> None:
    path = log_file(tmp_path)
    lines = jelly("patch", "show", path, "--summary").text.splitlines()
    assert lines[1] == "patch 2: id <urn:2>, prev <urn:1>, rows (H 2, TX 2, D 1, A 2, TC 1, TA 1)"
    first = json.loads(jelly("patch", "show", path, "--json").text.splitlines()[0])
    rows = {"H": 1, "TX": 1, "PA": 1, "A": 2, "TC": 1}
    assert first == {"patch": 1, "id": "<urn:1>", "prev": None, "rows": rows}


@pytest.mark.parametrize(
    ("text", "code", "shown"),
    [
        (LOG, 0, "last id     <urn:2>\n"),
        (LOG.replace(b"prev <urn:1>", b"prev <urn:0>"), 1, "patch 2, message prev is <urn:0>"),
        (LOG.replace(b"TA .\n", b""), 1, "patch 2, message "),
        (LOG.replace(b"TX .", b"TY ."), 1, "patch 1, message "),
    ],
    ids=["valid", "chain", "truncated", "syntax"],
)
def test_check(text: bytes, code: int, shown: str, tmp_path: Path) -> None:
    path = log_file(tmp_path, text=text)
    done, in_json = jelly("patch", "check", path), jelly("patch", "check", path, "--json")
    assert (done.code, in_json.code, done.err) == (code, code, "")
    assert shown in done.text
    report = json.loads(in_json.text)
    assert report["valid"] == (not code)
    assert code or (report["patches"], report["rows"]["A"]) == (2, 4)


def test_a_log_without_its_last_mark_is_named_and_rejected_where_it_is_strict(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.jellyp"
    # The last frame has the mark: a row of two bytes, and its length.
    with_mark = jelly("patch", "convert", "-", "--to", "jellyp", stdin=b"TX . TC .").out
    assert with_mark.endswith(b"\x0a\x02\x7a\x00")
    log.write_bytes(bytes([with_mark[0] - 4]) + with_mark[1:-4])
    done = jelly("patch", "check", log)
    assert done.code == 0
    assert "\ndeviations\n" in done.text
    assert jelly("patch", "check", log, "--strict").code == 1
    assert jelly("patch", "convert", log).text == "TX .\nTC .\n"
    assert_failed(jelly("patch", "convert", log, "--strict"), 1, "before a mark")


def test_undo_and_redo(tmp_path: Path) -> None:
    log, store = log_file(tmp_path), tmp_path / "store"

    def applied(folder: Path = store) -> set[str]:
        assert jelly("patch", "apply", log, "--store", folder).code == 0
        return literals(folder)

    before = applied()
    done = jelly("patch", "undo", log, "--json")
    assert json.loads(done.out)["undoes"] == "<urn:2>"
    assert applied() == {"one", "two"}
    done = jelly("patch", "undo", log)
    assert done.out.startswith(b"patch <urn:uuid:")
    assert done.out.endswith(b">: undoes <urn:1>\n")
    assert jelly("patch", "undo", log, "--count", "1").code == 1
    assert b"redoes <urn:1>" in jelly("patch", "redo", log, "--to", "urn:2").out
    assert applied() == before
    assert jelly("patch", "redo", log, "--to", "urn:2").out == b"nothing to append\n"
    # Once more from its beginning, and into another store.
    assert applied() == applied(tmp_path / "other") == before
    assert check(log).patches == 6


def test_undo_of_a_missing_log(tmp_path: Path) -> None:
    assert_failed(jelly("patch", "undo", tmp_path / "missing.rdfp"), 1, "No such file")
    assert not list(tmp_path.iterdir())

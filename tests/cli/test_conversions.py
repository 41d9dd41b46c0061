"""``jelly convert`` and ``load`` of what takes several steps; what they do is tested in
``tests/formats/test_conversion.py``."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Store

from jelly_plugins import read, read_frames

from .command import TRIPLES, assert_failed, jelly, triples_file

NT = b'<urn:s> <urn:p> "o"@en .\n_:b <urn:q> <<( <urn:a> <urn:b> _:c )>> .\n'
TRIG = b"@prefix x: <urn:x:> . @prefix y: <urn:y:> . GRAPH <urn:g> { x:s x:p _:b }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.nt").write_bytes(NT)
    Path("b.trig").write_bytes(TRIG)
    triples_file(tmp_path, "c.jelly")
    return tmp_path


def convert(*arguments: str) -> bytes:
    done = jelly("convert", *arguments)
    assert (done.code, done.err) == (0, ""), done
    return done.out


def test_text_to_text_and_several_files(folder: Path) -> None:
    assert convert("a.nt", "--to", "nq") == NT
    convert("a.nt", "b.trig", "c.jelly", "-o", "all.jelly")
    assert len(list(read(folder / "all.jelly"))) == 3 + len(TRIPLES)
    assert convert("a.nt", "b.trig", "--to", "nq").count(b"\n") == 3


def test_the_text_form_of_jelly(folder: Path) -> None:
    convert("c.jelly", "-o", "c.txtpb")
    assert (folder / "c.txtpb").read_text().startswith("# frame 0\nrows {\n")
    assert convert("c.txtpb", "--to", "jelly") == (folder / "c.jelly").read_bytes()
    assert convert("c.jelly", "--to", "jelly-text") == (folder / "c.txtpb").read_bytes()


def test_frames_options_and_namespaces(folder: Path) -> None:
    convert("c.jelly", "-o", "d.jelly", "--frame-rows", "8", "--stream-name", "d")
    convert("d.jelly", "-o", "bare.jelly", "--no-delimited")
    with read_frames(folder / "bare.jelly") as frames:
        assert frames.options.stream_name == "d"
        assert frames.delimited is False


@pytest.mark.usefixtures("folder")
def test_any_format_is_loaded() -> None:
    done = jelly("load", "a.nt", "b.trig", "c.jelly", "--store", "store")
    assert (done.code, done.err) == (0, "")
    assert done.text.splitlines() == [
        "a.nt: loaded",
        "b.trig: loaded",
        f"c.jelly: {len(TRIPLES)} statements",
    ]
    assert len(Store.read_only("store")) == 3 + len(TRIPLES)
    Path("bad.nt").write_bytes(NT + b"<a> <b> <c> .\n")
    assert_failed(jelly("load", "bad.nt", "--store", "new"), 1, "bad.nt: line 3")


@pytest.mark.parametrize("blank_nodes", ["fresh", "keep", "canonicalize"])
@pytest.mark.parametrize("atomic", ["--atomic", "--no-atomic"])
@pytest.mark.usefixtures("folder")
def test_text_with_base_directions_is_loaded(blank_nodes: str, atomic: str) -> None:
    statement = '<urn:s> <urn:p> "a"@ar--rtl .\n'
    texts = {
        "d.nt": statement,
        "d.nq": '<urn:s> <urn:p> "q"@ar--rtl <urn:g> .\n',
        "d.ttl": "<urn:s> <urn:p> 'b'@ar--ltr, _:b ; <urn:q> <<( <urn:s> <urn:p> 'c'@ar--rtl )>> .",
        "d.trig": "<urn:g> { <urn:s> <urn:p> 'd'@ar--ltr }",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    done = jelly("load", *texts, "--store", "store", "--blank-nodes", blank_nodes, atomic)
    assert (done.code, done.err) == (0, "")
    found = "\n".join(map(str, Store.read_only("store")))
    for literal in ('"a"@ar--rtl', '"q"@ar--rtl', '"b"@ar--ltr', '"c"@ar--rtl', '"d"@ar--ltr'):
        assert literal in found
    assert len(found.splitlines()) == 6


@pytest.mark.parametrize("text", ["", "<?xml version='1.0'?><!-- <a/> -->\n"])
def test_rdf_xml_without_a_root_element(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.rdf"
    path.write_text(text)
    for arguments in (
        ("convert", path, "-o", tmp_path / "x.nt"),
        ("convert", path, path, "-o", tmp_path / "x.jelly"),
        ("load", "--store", tmp_path / "store", path),
        ("patch", "diff", path, path),
    ):
        done = jelly(*arguments)
        assert_failed(done, 1, "x.rdf: line", "malformed XML")

"""Names of files: what only writes Jelly rejects those of other formats."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import (
    Format,
    Frame,
    Iri,
    SourceError,
    StreamOptions,
    Triple,
    convert,
    read,
    write,
    write_frames,
)
from jelly_plugins.io.names import check_jelly_name, format_of

TRIPLES = [Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))]


def _arrow(dst: Any) -> object:
    arrow = pytest.importorskip("jelly_plugins.arrow")
    return arrow.write([], dst)


def _oxigraph(function: str) -> Callable[[Any], object]:
    def call(dst: Any) -> object:
        pyoxigraph = pytest.importorskip("pyoxigraph")
        ours = pytest.importorskip("jelly_plugins.oxigraph")
        data = pyoxigraph.Store() if function == "dump" else []
        return getattr(ours, function)(data, dst)

    return call


def _rdflib(function: str) -> Callable[[Any], object]:
    def call(dst: Any) -> object:
        pytest.importorskip("rdflib")
        ours = pytest.importorskip("jelly_plugins.rdflib")
        return getattr(ours, function)([], dst)

    return call


WRITERS: dict[str, Callable[[Any], object]] = {
    "write": lambda dst: write(TRIPLES, dst),
    "write_frames": lambda dst: write_frames([Frame(0)], dst, options=StreamOptions()),
    "arrow.write": _arrow,
    "oxigraph.dump": _oxigraph("dump"),
    "oxigraph.write_quads": _oxigraph("write_quads"),
    "rdflib.write_statements": _rdflib("write_statements"),
    "rdflib.write_graphs": _rdflib("write_graphs"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_names_of_other_formats_are_rejected(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_bytes(b"before")
    with pytest.raises(SourceError, match=r"x\.nt: Jelly is written.* format nt: .*convert"):
        WRITERS[writer](path)
    assert path.read_bytes() == b"before"
    # An open file may have any name.
    with path.open("wb") as file:
        WRITERS[writer](file)
    assert format_of(path) is Format.N_TRIPLES
    assert list(read(path.read_bytes())) in ([], TRIPLES)


@pytest.mark.parametrize("name", ["x.ttl.gz", "x.NQ", "x.txtpb", "x.rt.ZST", "folder.jelly/x.xml"])
def test_endings_of_other_formats(name: str) -> None:
    with pytest.raises(SourceError, match="Jelly is written"):
        check_jelly_name(name)
    with pytest.raises(SourceError, match="Jelly is written"):
        check_jelly_name(Path(name))


@pytest.mark.parametrize("name", ["x.jelly", "x.jelly.gz", "x", "x.bin", "x.nt.bak", "x.nt/y"])
def test_other_names_are_accepted(name: str) -> None:
    check_jelly_name(name)


def test_a_format_that_is_given_is_written_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    out = io.BytesIO()
    write(TRIPLES, out)
    convert(out.getvalue(), path, source_format="jelly", target_format="jelly")
    assert list(read(path)) == TRIPLES


def test_notation3_is_named() -> None:
    with pytest.raises(SourceError, match=r"x.n3.gz: Notation3 is not supported; if .* turtle"):
        convert("x.n3.gz", io.BytesIO(), target_format="nt")
    with pytest.raises(ValueError, match="Notation3 is not supported"):
        convert(b"", io.BytesIO(), source_format="N3", target_format="nt")

"""Wrong usage of the commands, and outputs that exist."""

from __future__ import annotations

import gc
import os
import shlex
from pathlib import Path

import pytest

from jelly_plugins import Iri
from jelly_plugins.sparql import write_results

from .command import assert_failed, jelly, triples_file

TEXT = "<urn:s> <urn:p> <urn:o> .\n"
QUERY = "query 'CONSTRUCT WHERE { ?s ?p ?o }' x.nt"
HOST = "subscribe t --from localhost:1"

#: Command lines, and words of the error.
USAGE = [
    ("nonsense", "nonsense"),
    ("--nonsense", "--nonsense"),
    ("--limit frame_bytes inspect x.jelly", "frame_bytes is not NAME=NUMBER"),
    ("--limit frame_rows=x inspect x.jelly", "frame_rows=x is not NAME=NUMBER"),
    ("--limit frame_row=3 inspect x.jelly", "'frame_row'; did you mean frame_rows?"),
    ("--limit nesting=1000 inspect x.jelly", "nesting"),
    # convert
    ("convert", "SRC"),
    ("convert --nonsense x", "--nonsense"),
    ("convert x.jelly -o x.json", ".json is not a known file ending: known"),
    ("convert x.jelly -o x.rdfp.gz", "x.rdfp.gz has the ending of rdfp"),
    ("convert x.jelly --to turtel", "did you mean turtle?"),
    ("convert - -o y.jelly", "--from"),
    ("convert - - --from nt", "stdin can be given only once"),
    ("load - - --store new", "stdin can be given only once"),
    ("convert x.jelly --frame-rows 0", "--frame-rows"),
    ("convert x.nt --preset large", "--preset"),
    ("convert x.nt --physical-type cubes", "cubes"),
    ("convert x.jelly --flat --logical-type graphs", "--flat cannot be combined with --logical"),
    ("convert x.jelly --restart-every 0", "is not a size"),
    ("convert x.jelly --restart-every 1T", "is not a size"),
    *((f"convert x.jelly --take-frames={it}", it) for it in ("x", "3..2", "..0", "-1")),
    ("convert x.nt --to jelly --take-frames 0", "--take-frames applies to Jelly"),
    *(
        (f"convert x.jelly --to {target} {it}", f"{it.split()[0]} does not apply to {target}")
        for target in ("nt", "ttl", "rt")
        for it in (
            *("--preset small", "--physical-type quads", "--logical-type graphs", "--flat"),
            *("--stream-name x", "--frame-rows 5", "--restart-every 1K", "--no-delimited"),
        )
    ),
    ("convert x.nt --to ttl --notation rdf-star", "--notation does not apply to ttl"),
    ("convert x.nt text", "give the output with -o"),
    ("convert x.nt y.jelly", "y.jelly does not exist; to write it, use -o y.jelly"),
    ("convert x.nt --to-dialect 2025-comment", "--messages"),
    # Message logs
    ("convert --messages - --to nq", "--from"),
    ("convert --messages x.ttl", "--to"),
    ("convert --messages x.ttl x.ttl --to nq", "one message log"),
    ("convert x.ttl --from ndjsonld --to jelly", "--messages"),
    ("convert --messages x.ttl --to csv", "csv"),
    ("convert --messages x.ttl --to jsonld", "message logs"),
    ("convert --messages x.ttl --to jelly --logical-type flat-quads", "--logical-type"),
    ("convert --messages x.ttl --to nq --flat", "--flat"),
    ("convert --messages x.ttl --to nq --no-namespaces", "--no-namespaces"),
    ("convert --messages x.ttl --to nq --frame-rows 9", "--frame-rows"),
    ("inspect --messages x.ttl --frames", "--frames"),
    ("inspect --messages -", "--from"),
    ("inspect --messages x.ttl --context x", "URL=FILE"),
    ("inspect --messages x.ttl --context x=x.ttl", "x=x.ttl: "),
    # Query results
    ("convert x.srj x.srj -o y.jellys", "one file of query results"),
    ("convert x.srj -o y.nt", "y.nt is not one of query results"),
    ("convert x.srj --to jellys --no-namespaces", "--no-namespaces"),
    ("inspect x.srj --concatenated", "--concatenated"),
    ("validate x.srj --ordered", "--ordered"),
    ("query 'ASK {}'", "--store"),
    ("query 'ASK {}' x.nt --store store", "not both"),
    ("query 'ASK {}' x.nt --to ttl", "ttl"),
    (f"{QUERY} --to srj", "srj"),
    (f"{QUERY} -o y.tsv", "--to"),
    # Stores
    ("dump --store store -o x.csv", ".csv is not a known file ending: known"),
    ("dump --store store -o x.jellyp", "x.jellyp has the ending of jellyp"),
    ("dump --store store --to nq --prefix ex=urn:", "--prefix does not apply to nq"),
    # validate
    ("validate x.jelly --ordered", "--ordered does not apply to a file without --against"),
    ("validate x.jelly --against-format nt", "--against-format does not apply to a file without"),
    ("validate x.jelly --against a.nt --against b.nt", "--frames"),
    ("validate x.jelly --against .", "--frames"),
    ("validate x.jelly --against a.txt", "--against-format"),
    ("validate x.jelly --against - --against-format nt", "--against: a file is needed, not stdin"),
    # Patches
    ("patch nonsense", "nonsense"),
    ("patch apply x.rdfp", "--store"),
    ("patch apply - --store absent --follow", "--follow"),
    ("patch apply x --store absent --dry-run --graph 'no iri'", "--graph"),
    ("patch status --store absent", "an Oxigraph store"),
    ("patch convert x --to nt", "--to"),
    ("patch convert x.jellyp --to rdfp --preset small", "--preset does not apply to rdfp"),
    ("patch convert x.jellyp --to trp --stream-type flat", "--stream-type does not apply to trp"),
    ("patch convert x.jellyp --to jellyp --notation rdf-1-2", "--notation does not apply to"),
    ("patch convert x.jellyp -o x.nt", "a log is jellyp, rdfp, trp, as --to"),
    ("patch diff - -", "stdin"),
    ("patch diff a.txt b.nt", "--from"),
    ("patch diff x.nt x.nt --id 'urn:no iri'", "the character ' '"),
    ("patch diff x.nt x.nt --prev relative", "the IRI <relative> is relative"),
    ("patch diff a.nt b.nt -o x.xyz", "a log is jellyp, rdfp, trp, as --to"),
    ("patch diff a.nt b.nt -o x.jelly", "x.jelly has the ending of jelly"),
    ("patch undo -", "is a file"),
    ("patch undo x.rdfp --count 1 --to x", "exclude"),
    # The streaming service
    ("serve", "nothing to serve"),
    ("serve --topic t", "a file is needed"),
    ("serve --topic t=x.nt", "x.nt is not a Jelly file"),
    ("serve --topic t=x.jelly --read-only", "--store"),
    ("serve --live t=quins", "triples, quads or graphs"),
    ("serve --live t --live t", "is given twice"),
    ("serve --live t --tls-key x", "--tls-cert"),
    ("serve --live t --tls-client-ca x", "--tls-client-ca needs --tls-cert"),
    ("publish x.jelly --to localhost", "HOST:PORT"),
    ("subscribe t --from localhost:x", "HOST:PORT"),
    (f"{HOST} -o x.nt", "subscribe writes jelly"),
    (f"{HOST} --tls-key x", "belong together"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with files of each kind."""
    # A store that an exception holds is locked by its name, "store", here and in other folders.
    gc.collect()
    monkeypatch.chdir(tmp_path)
    triples_file(tmp_path)
    for name in ("x.nt", "text"):
        Path(name).write_text(TEXT)
    Path("star.nt").write_text("<urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> >> .")
    Path("x.ttl").write_text('VERSION "1.2-messages"\nMESSAGE\n')
    Path("log.rdfp").write_text("TX .\nTC .\n")
    write_results(["a"], [(Iri("urn:a"),)], "x.srj")
    return tmp_path


@pytest.mark.parametrize(("line", "words"), USAGE)
def test_wrong_usage_is_one_line_and_code_2(line: str, words: str, folder: Path) -> None:
    if " store" in line:
        assert jelly("load", "x.jelly", "--store", "store").code == 0
    before = sorted(os.listdir(folder))
    assert_failed(jelly(*shlex.split(line)), 2, words)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("convert x.jelly --to jelly --logical-type datasets", "does not match physical type TRI"),
        ("convert x.nt y", "y: No such file"),
        *(
            (f"{each} text", "this is text, not Jelly: --from names its format")
            for each in ("convert", "inspect", "validate", "query 'ASK {}'", "load --store store")
        ),
        ("inspect star.nt", "(jelly convert --rdf-star)"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_input_that_does_not_fit_is_one_line_and_code_1(line: str, words: str) -> None:
    assert_failed(jelly(*shlex.split(line)), 1, words)


@pytest.mark.parametrize(
    "line",
    [
        *("convert x.jelly --to nt", "dump --store store --to nq", "patch diff x.nt x.nt"),
        *("query 'ASK {}' x.nt --to srj", f"{QUERY} --to nt", f"{HOST}"),
        *(f"patch {name} log.rdfp --to jellyp" for name in ("convert", "invert", "compact")),
    ],
)
def test_outputs_are_not_clobbered(line: str, folder: Path) -> None:
    assert jelly("load", "x.jelly", "--store", "store").code == 0
    target = folder / "kept"
    target.write_bytes(b"kept")
    arguments = shlex.split(line)
    for name, words in (
        ("kept", "kept exists: --force replaces it"),
        ("", "the name of the output is empty"),
        ("store", "store is a folder"),
        ("y.lz4", "unknown compression .lz4"),
        ("y.XZ", "unknown compression .xz"),
    ):
        force = () if name == "kept" else ("--force",)
        assert_failed(jelly(*arguments, "-o", name, *force), 2, words)
    assert target.read_bytes() == b"kept"
    if arguments[0] != "subscribe":
        assert jelly(*arguments, "-o", "kept", "-f").code == 0
        assert target.read_bytes() != b"kept"

"""Patches from files and to files, in every format, and what each can express."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    Quad,
    StatementError,
    TermError,
    Triple,
)
from jelly_plugins.codec import Operation, OperationKind, PatchEncoder, delimit
from jelly_plugins.errors import (
    JellyError,
    OptionsError,
    OrderError,
    SourceError,
    TextError,
    TruncatedError,
)
from jelly_plugins.oxigraph.terms import OxigraphFactory, describe
from jelly_plugins.patch import (
    BEGIN,
    COMMIT,
    END,
    Patch,
    PatchFormat,
    PatchReader,
    add,
    add_namespace,
    delete,
    header,
    read_patches,
    write_patches,
    write_rows,
)
from jelly_plugins.patch.logs import PatchOptionChanges, convert
from jelly_plugins.patch.reader import detect
from jelly_plugins.patch.writer import LOOK_AHEAD, patch_writer

from ..codec.input_kinds import Trickle

S, P, OB, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g")
SPO = Triple(S, P, OB)
ROWS = [
    header("id", Iri("urn:1")),
    BEGIN,
    add(Quad(S, P, OB, G)),
    COMMIT,
    END,
    header("id", Iri("urn:2")),
    header("prev", Iri("urn:1")),
    delete(Quad(S, P, OB, G)),
    END,
]
FORMATS = list(PatchFormat)


def written(rows: list[Operation], format: PatchFormat, **settings: Any) -> bytes:  # noqa: A002
    file = io.BytesIO()
    write_rows(rows, file, format=format, **settings)
    return file.getvalue()


# Formats


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
def test_files(tmp_path: Path, format: PatchFormat, ending: str) -> None:  # noqa: A002
    path = tmp_path / f"log.{format}{ending}"
    write_rows(ROWS, path)
    data = path.read_bytes()
    if ending == ".gz":
        data = gzip.decompress(data)
    elif ending:
        data = bz2.decompress(data)
    assert data == written(ROWS, format)
    for src in (path, str(path), path.read_bytes(), io.BytesIO(data), Trickle(data)):
        with PatchReader(src) as reader:
            assert list(reader) == ROWS
            assert reader.format is format
            assert (reader.options is None) is (format is not PatchFormat.JELLY_PATCH)
            assert not reader.inside_patch


def test_format_is_told_by_content(tmp_path: Path) -> None:
    # Whatever the name says.
    for format, other in itertools.permutations(FORMATS, 2):  # noqa: A001
        path = tmp_path / f"log.{other}"
        path.write_bytes(written(ROWS, format))
        assert list(PatchReader(path)) == ROWS
    empty = tmp_path / "empty.rdfp"
    empty.write_bytes(b"")
    assert list(PatchReader(empty)) == []
    with pytest.raises(OptionsError, match="empty"):
        list(PatchReader(b""))


@pytest.mark.parametrize(
    "text", ["TX .", "#\nTX .", "#\n#\n#\n", "\n\n\n", "\nH id <urn:1> .", "Z.", " A\t", "D <"]
)
def test_text_is_not_taken_for_jelly(text: str) -> None:
    assert detect(text.encode(), "x.rdfp") is PatchFormat.RDF_PATCH
    if text.strip():
        assert detect(text.encode()) is PatchFormat.RDF_PATCH


@pytest.mark.parametrize("stream_type", PatchStreamType)
@pytest.mark.parametrize("names", [8, 200, 4000])
def test_jelly_is_not_taken_for_text(stream_type: PatchStreamType, names: int) -> None:
    options = PatchOptions(stream_type=stream_type, max_name_table_size=names)
    for length in range(150):
        encoder = PatchEncoder(options)
        key = "x" * length
        frames = encoder.add([header(key, Literal(key)), END]) + encoder.finish()
        assert detect(delimit(frames[0]), "x.rdfp") is PatchFormat.JELLY_PATCH
        assert detect(frames[0], "x.rdfp") is PatchFormat.JELLY_PATCH


def test_errors_name_the_source(tmp_path: Path) -> None:
    path = tmp_path / "log.rdfp"
    path.write_text("TX .\nTX .\n")
    with pytest.raises(TextError, match=r"log\.rdfp: line 2, column 1: a row TX"):
        list(PatchReader(path))
    path = tmp_path / "log.jellyp"
    path.write_bytes(written(ROWS, PatchFormat.JELLY_PATCH)[:-1])
    with pytest.raises(TruncatedError, match=r"log\.jellyp: frame 1: the input ends inside"):
        list(PatchReader(path))
    with pytest.raises(SourceError, match="No such file"):
        PatchReader(tmp_path / "absent.rdfp")


# Patches


@pytest.mark.parametrize("format", FORMATS)
def test_a_large_patch_streams_through(format: PatchFormat) -> None:  # noqa: A002
    given_out = 0

    def operations() -> Iterator[Operation]:
        nonlocal given_out
        for number in range(12_000):
            given_out += 1
            yield add(Quad(Iri(f"urn:{number}"), P, OB, G))

    class Watched(io.BytesIO):
        first: int | None = None

        def write(self, data: Any) -> int:
            if data and self.first is None:
                self.first = given_out
            return super().write(data)

    file = Watched()
    write_patches([Patch(operations(), [("id", S)])], file, format=format)
    assert file.first is not None
    assert file.first < 5000
    [patch] = read_patches(file.getvalue())
    assert sum(1 for _ in patch) == 12_000


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    for name, content in (
        ("data.nt", b"<urn:s> <urn:p> <urn:o> .\n"),
        ("data.ttl", b"@prefix : <urn:> . :s :p :o ."),
        ("data", b"{}"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(JellyError, match=f"{name}: .*neither Jelly-Patch nor RDF Patch text"):
            list(PatchReader(path))
        # With the format given, the error says what is wrong.
        with pytest.raises(JellyError) as found:
            list(PatchReader(path, format=PatchFormat.JELLY_PATCH))
        assert "neither" not in str(found.value)


# Options


def test_triples_and_quads_in_the_default_graph_are_the_same() -> None:
    mixed = [add(SPO), add(Quad(*SPO, DEFAULT_GRAPH)), add_namespace("x", S), END]
    quads = [add(Quad(*SPO, DEFAULT_GRAPH))] * 2 + [add_namespace("x", S, DEFAULT_GRAPH), END]
    triples = [add(SPO)] * 2 + [add_namespace("x", S), END]
    for rows in (mixed, quads, triples):
        for statement_type, expected in (
            (PatchStatementType.QUADS, quads),
            (PatchStatementType.TRIPLES, triples),
        ):
            options = PatchOptions(statement_type=statement_type)
            data = written(rows, PatchFormat.JELLY_PATCH, options=options)
            assert list(PatchReader(data)) == expected
    options = PatchOptions(statement_type=PatchStatementType.TRIPLES)
    for row in (add(Quad(*SPO, G)), add_namespace("x", S, G)):
        with pytest.raises(StatementError, match="named in a stream of triples"):
            written([row, END], PatchFormat.JELLY_PATCH, options=options)


# Following


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_not_complete_waits(format: PatchFormat, tmp_path: Path) -> None:  # noqa: A002
    path = tmp_path / f"log.{format}"
    data = written([*ROWS, END], format)
    chunks = [data[: len(written(ROWS[:5], format)) + 9]]
    path.write_bytes(b"")

    def wait() -> bool:
        if not chunks:
            return False
        path.write_bytes(chunks.pop())
        return True

    with PatchReader(path, wait=wait) as reader:
        assert list(reader) == ROWS[:5]
        assert reader.inside_patch


def test_compressed_logs_are_not_followed() -> None:
    with pytest.raises(SourceError, match="gzip: cannot be followed"):
        list(PatchReader(gzip.compress(b"TX ."), wait=lambda: False))


# Serializing elsewhere


@pytest.mark.parametrize("format", FORMATS)
def test_logs_grow_by_appending(format: PatchFormat) -> None:  # noqa: A002
    log = b""
    for number in range(4):
        serializer = patch_writer(format, continues=number > 0)
        for row in ROWS:
            log += serializer.add([row])
        log += serializer.finish()
        if format is PatchFormat.JELLY_PATCH:
            assert list(PatchReader(log)) == ROWS * (number + 1)
    assert list(PatchReader(log)) == ROWS * 4


@pytest.mark.parametrize("format", FORMATS)
def test_logs_can_be_put_together_as_files(format: PatchFormat) -> None:  # noqa: A002
    assert list(PatchReader(written(ROWS, format) * 3)) == ROWS * 3


@pytest.mark.parametrize("format", FORMATS)
def test_a_patch_that_is_ended_has_come_out(format: PatchFormat) -> None:  # noqa: A002
    serializer = patch_writer(format)
    data = serializer.add(ROWS[:5])
    assert list(PatchReader(data)) == ROWS[:5]
    serializer.add([BEGIN])
    with pytest.raises(OrderError, match="not ended"):
        serializer.finish()


def test_terms_of_a_library() -> None:
    factory = OxigraphFactory(blank_nodes="keep")
    for format in FORMATS:  # noqa: A001
        data = written([*ROWS, header("x", Literal("1", datatype="urn:d")), END], format)
        rows = list(PatchReader(data, factory=factory))
        nodes = (pyoxigraph.NamedNode(term.value) for term in ROWS[2].value)
        assert rows[2].value == pyoxigraph.Quad(*nodes)
        assert rows[0].value.value == pyoxigraph.NamedNode("urn:1")
        plain = [
            Operation(kind, tuple(value))
            if kind in (OperationKind.ADD, OperationKind.DELETE)
            else Operation(kind, value)
            for kind, value in rows
        ]
        assert written(plain, format, describe=describe) == data


# The options of streams that are made of text, whatever comes late in it


MANY = 1500
PLAIN = "".join(f"A <urn:s:{i}> <urn:p> <urn:o> .\n" for i in range(MANY))
IN_A_GRAPH = "A <urn:s> <urn:p> <urn:o> <urn:g> .\n"
QUOTED = "A <urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> >> .\n"


def as_stream(text: str) -> Trickle:
    return Trickle(text.encode(), 1 << 16)


def converted(source: Any, **changes: Any) -> bytes:
    file = io.BytesIO()
    convert(
        [source],
        file,
        target_format=PatchFormat.JELLY_PATCH,
        changes=PatchOptionChanges(**changes),
    )
    return file.getvalue()


def options_of(data: bytes) -> PatchOptions:
    with PatchReader(data) as rows:
        for _ in rows:
            pass
        assert rows.options is not None
        return rows.options


def rows_of(source: Any) -> list[Operation]:
    with PatchReader(source) as rows:
        return list(rows)


@pytest.mark.parametrize("kind", [str.encode, as_stream])
@pytest.mark.parametrize("late", ["", IN_A_GRAPH, QUOTED, IN_A_GRAPH + QUOTED])
def test_what_comes_late(kind: Callable[[str], Any], late: str) -> None:
    assert MANY > LOOK_AHEAD
    text = PLAIN + late
    data = converted(kind(text))
    assert rows_of(data) == rows_of(text.encode())
    options = options_of(data)
    assert options.statement_type is PatchStatementType.QUADS
    assert options.rdf_star


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.rdfp"
    os.mkfifo(pipe)
    # A second look would wait for a second writer.
    writer = threading.Thread(target=lambda: pipe.write_text(PLAIN))
    writer.start()
    data = converted(pipe)
    writer.join()
    assert options_of(data).rdf_star


def test_short_text_is_known() -> None:
    assert options_of(converted(as_stream("A <urn:s> <urn:p> <urn:o> ."))) == (
        PatchOptions(version=1)
    )
    assert options_of(converted(QUOTED.encode())).rdf_star


IN_G = Quad(*SPO, Iri("urn:g"))
TRIPLES = {"statement_type": PatchStatementType.TRIPLES}
STAR = {"rdf_star": True}
GENERALIZED = {"generalized_statements": True}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([header("id", SPO.subject), add(SPO)], TRIPLES),
        ([add_namespace("x", SPO.subject)], TRIPLES),
        ([add_namespace("x", SPO.subject, IN_G.graph)], {}),
        *((rows, {}) for rows in ([], [BEGIN, COMMIT], [add(SPO), add(IN_G)])),
        ([delete(Triple(*SPO[:2], SPO))], TRIPLES | STAR),
        ([header("x", SPO)], STAR),
        ([add(Triple(Literal("s"), *SPO[1:]))], TRIPLES | GENERALIZED),
        ([add(Triple(SPO.subject, SPO, SPO.object))], TRIPLES | GENERALIZED | STAR),
        (
            [add(Triple(*SPO[:2], Triple(SPO.subject, Literal("p"), SPO.object)))],
            TRIPLES | GENERALIZED | STAR,
        ),
        ([add(Quad(*SPO, Literal("g")))], GENERALIZED),
        # They are all looked at.
        ([*[add(SPO)] * MANY, add(IN_G)], {}),
        ([*[add(SPO)] * MANY, add(Triple(*SPO[:2], SPO))], TRIPLES | STAR),
    ],
)
def test_patches_in_memory_are_known(rows: list[Any], expected: dict[str, Any]) -> None:
    file = io.BytesIO()
    write_patches([Patch(rows)], file)
    assert options_of(file.getvalue()) == PatchOptions(**expected, version=1)
    # Of those that stream, no more than the first rows.
    file = io.BytesIO()
    write_patches(iter([Patch(rows)]), file)
    found = options_of(file.getvalue())
    assert found == PatchOptions(**(STAR if len(rows) > MANY else expected), version=1)
    assert len(list(read_patches(file.getvalue()))) == 1


# RDF Patch is only written as readers accept it


S, LITERAL, NODE = Iri("urn:s"), Literal("x"), BlankNode("b")


@pytest.mark.parametrize("format", ["rdfp", "trp"])
@pytest.mark.parametrize(
    "statement",
    [
        *(Triple(LITERAL, S, S), Triple(S, LITERAL, S), Triple(S, NODE, S)),
        *(Triple(S, Triple(S, S, S), S), Triple(S, S, Triple(LITERAL, S, S))),
        Quad(S, S, S, LITERAL),
    ],
)
def test_generalized_statements_are_only_written_if_declared(statement: Any, format: str) -> None:  # noqa: A002
    patches = [Patch([add(statement)], [("id", S)])]
    with pytest.raises(StatementError, match=r"as (subject|predicate|graph)"):
        write_patches(patches, io.BytesIO(), format=format)
    log, again = io.BytesIO(), io.BytesIO()
    write_patches(patches, log, format="jellyp")
    with pytest.raises(StatementError, match=r"as (subject|predicate|graph)"):
        convert([log.getvalue()], again, target_format=format)


@pytest.mark.parametrize("format", ["rdfp", "trp"])
def test_declared(format: str) -> None:  # noqa: A002
    patches = [Patch([add(Quad(LITERAL, NODE, S, S))], [("id", S)])]
    file = io.BytesIO()
    options = PatchOptions(generalized_statements=True)
    write_patches(patches, file, format=format, options=options)
    assert list(read_patches(file.getvalue(), format=format, generalized=True)) == patches


@pytest.mark.parametrize("format", ["rdfp", "trp"])
@pytest.mark.parametrize("namespace", [LITERAL, NODE, Triple(S, S, S)])
def test_namespaces_are_iris(namespace: Any, format: str) -> None:  # noqa: A002
    patches = [Patch([add_namespace("ex", namespace)])]
    with pytest.raises(StatementError, match="a namespace is not an IRI"):
        write_patches(patches, io.BytesIO(), format=format)


@pytest.mark.parametrize("format", ["rdfp", "trp"])
@pytest.mark.parametrize("name", ["DefaultGraph", "DefaultGraphNode"])
@pytest.mark.parametrize(
    "make", [lambda g: add(Quad(S, S, S, g)), lambda g: add_namespace("", S, g)]
)
def test_what_means_the_default_graph(name: str, make: Any, format: str) -> None:  # noqa: A002
    patches = [Patch([make(Iri(f"urn:x-arq:{name}"))])]
    with pytest.raises(TermError, match="which means the default graph"):
        write_patches(patches, io.BytesIO(), format=format)

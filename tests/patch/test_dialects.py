"""Logs as other tools write them, and formats as people name them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Store
from pyoxigraph import Quad as OxigraphQuad
from rdflib import Dataset

from jelly_plugins import DEFAULT_GRAPH, BlankNode, ChainError, Iri, Literal, Quad, Triple, rdflib
from jelly_plugins.codec import (
    Operation,
    PatchEncoder,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    delimit,
)
from jelly_plugins.errors import (
    JellyError,
    OptionsError,
    OrderError,
    StatementError,
    TruncatedError,
)
from jelly_plugins.oxigraph import BOOKKEEPING, count_quads, record, replay
from jelly_plugins.patch import (
    BEGIN,
    COMMIT,
    END,
    OperationKind,
    Patch,
    PatchFormat,
    PatchReader,
    add,
    check,
    header,
    read_patches,
    write_patches,
)
from jelly_plugins.patch.columns import PatchColumnReader
from jelly_plugins.patch.logs import PatchOptionChanges, convert

from ..codec import patch_wire as w
from ..shared_data import shared

QUAD = Quad(Iri("urn:s"), Iri("urn:p"), Literal("o"), DEFAULT_GRAPH)
PATCH = Patch([BEGIN, add(QUAD), COMMIT], [("id", Iri("urn:1"))])


def written(form: Any) -> bytes:
    file = io.BytesIO()
    write_patches([PATCH], file, format=form)
    return file.getvalue()


# Names of formats


@pytest.mark.parametrize(
    ("form", "names"),
    [
        (PatchFormat.JELLY_PATCH, ["jellyp", "JELLYP", ".jellyp", "Jelly-Patch"]),
        (PatchFormat.RDF_PATCH, ["rdfp", "rdf-patch", "application/rdf-patch"]),
        (PatchFormat.RDF_PATCH_THRIFT, ["trp", ".trp", "application/rdf-patch+thrift"]),
    ],
)
def test_a_format_by_its_name(form: PatchFormat, names: list[str]) -> None:
    data = written(form)
    for name in names:
        assert written(name) == data
        assert list(read_patches(data, format=name)) == [PATCH]
        assert check(data, format=name).format is form
        file = io.BytesIO()
        convert([data], file, source_format=name, target_format=name)
        assert file.getvalue() == data


@pytest.mark.parametrize("name", ["nonsense", "", "nt", 1, b"rdfp"])
def test_a_format_that_does_not_exist(name: Any) -> None:
    data = written("rdfp")
    for use in (
        lambda: written(name),
        lambda: list(read_patches(data, format=name)),
        lambda: check(data, format=name),
        lambda: PatchReader(data, format=name),
        lambda: convert([data], io.BytesIO(), source_format=name, target_format="rdfp"),
        lambda: convert([data], io.BytesIO(), target_format=name),
    ):
        with pytest.raises(OptionsError, match="jellyp, rdfp, trp"):
            use()


def test_other_choices_by_their_names() -> None:
    data = b"TX . A <urn:s> <urn:p> <urn:o> . TC ."
    for name in ("triples", "TRIPLES", PatchStatementType.TRIPLES):
        [patch] = read_patches(data, statement_type=name)
        assert len(patch.operations[1].value) == 3  # type: ignore[arg-type]
    [patch] = read_patches(data, statement_type="quads")
    assert len(patch.operations[1].value) == 4  # type: ignore[arg-type]
    with pytest.raises(OptionsError, match="statement_type must be one of triples, quads"):
        list(read_patches(data, statement_type="statements"))
    with pytest.raises(OptionsError, match="notation must be one of rdf-star, rdf-1-2"):
        write_patches([PATCH], io.BytesIO(), format="rdfp", notation="turtle")
    write_patches([PATCH], io.BytesIO(), format="rdfp", notation="rdf-star")
    changes = PatchOptionChanges(stream_type="frame", statement_type="quads")
    assert changes.on(PatchOptions()).stream_type is PatchStreamType.FRAME
    changes = PatchOptionChanges(stream_type="frames")
    for form in ("jellyp", "rdfp"):
        with pytest.raises(OptionsError, match="stream_type must be one of"):
            convert([data], io.BytesIO(), target_format=form, changes=changes)
    assert PatchOptions(stream_type="flat").stream_type is PatchStreamType.FLAT  # type: ignore[arg-type]
    with pytest.raises(OptionsError, match="stream_type must be one of frame, flat, punctuated"):
        PatchOptions(stream_type="frames")  # type: ignore[arg-type]


# Headers


GAP = b"""H ID <urn:1> .
TX . A <urn:s> <urn:p> "1" . TC .
H Id <urn:3> .
H %s <urn:2> .
TX . A <urn:s> <urn:p> "3" . TC .
"""


@pytest.mark.parametrize("key", [b"PREV", b"previous", b"Previous"])
@pytest.mark.parametrize("form", ["rdfp", "jellyp", "trp"])
def test_headers_in_other_forms_chain_patches(key: bytes, form: str) -> None:
    file = io.BytesIO()
    write_patches(read_patches(GAP % key), file, format=form)
    data = file.getvalue()
    first, second = read_patches(data)
    assert (first.id, second.id, second.prev) == (Iri("urn:1"), Iri("urn:3"), Iri("urn:2"))
    # As they were written.
    second.read_all()
    assert second.headers[1].key == key.decode()
    assert [each.patch for each in check(data).problems] == [2]
    for target, function in ((Store(), replay), (Dataset(), rdflib.replay)):
        with pytest.raises(ChainError, match="<urn:2>"):
            function(target, data)  # type: ignore[operator]
        assert sum(1 for each in target if each[3] != BOOKKEEPING) == 1
    whole = data.replace(b"urn:2", b"urn:1")
    if form == "rdfp":
        assert check(whole)
        assert replay(Store(), whole).patches == 2


# Graphs, and the start of the text


@pytest.mark.parametrize("name", ["DefaultGraph", "DefaultGraphNode"])
def test_names_of_the_default_graph(name: str) -> None:
    graph = f"<urn:x-arq:{name}>"
    lines = [
        f'PA "q" "http://q/" {graph} .',
        f"A <urn:s> <urn:p> <urn:o> {graph} .",
        f"A <urn:s> <urn:p> 1 {graph} .",
        f'PD "q" <http://q/> {graph} .',
    ]
    text = "\n".join(["TX .", *lines, "TC .\n"])
    [patch] = read_patches(text.encode())
    _, *rows, _ = patch.operations
    assert {row.value[-1] for row in rows} == {DEFAULT_GRAPH}  # type: ignore[index]
    [patch] = read_patches(text.encode(), statement_type="triples")
    assert len(patch.operations[1].value) == len(patch.operations[2].value) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("start", ["H id <urn:1> .", "TX .", "# a comment\nTX .", "\nTX ."])
def test_a_byte_order_mark(start: str) -> None:
    tx = "" if "TX" in start else "TX .\n"
    text = f"{start}\n{tx}A <urn:s> <urn:p> <urn:o> .\nTC .\n"
    data = text.encode("utf-8-sig")
    assert list(read_patches(data)) == list(read_patches(text.encode()))
    assert replay(Store(), data).transactions == 1
    # The mark counts neither as a line nor as a column.
    with pytest.raises(JellyError, match="line 1, column 1"):
        list(read_patches(b"\xef\xbb\xbfnonsense\n", format="rdfp"))
    with pytest.raises(JellyError, match="line 2, column 1"):
        list(read_patches(b"TX .\n\xef\xbb\xbfTC .\n"))


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("08-bom", 0),
        ("09-header-previous", 0),
        ("09-header-upper-case-gap", 1),
        ("10-prev-is-own-id", 1),
        ("11-default-graph-names", 0),
        ("12-row-over-lines", 1),
        ("12-single-quotes", 1),
    ],
)
def test_cases(name: str, problems: int) -> None:
    assert len(check(shared(f"cases/patches/{name}.rdfp")).problems) == problems


# Text that breaks off


@pytest.mark.parametrize(
    "last",
    [
        *("A", "A <urn:s> <urn:p", 'A <urn:s> <urn:p> "abc', "A <urn:s> <urn:p> <urn:o>"),
        *("T", "TC", "H", "H id <urn", "PA 'x' <u", "TX . A <urn:s>"),
    ],
)
def test_a_text_that_ends_inside_a_row(last: str) -> None:
    text = f"H id <urn:1> .\nTX .\nTC .\n{last}"
    if last in ("A", "TC") or last.startswith(("A ", "PA")):
        text = f"H id <urn:1> .\nTX .\n{last}"
    with pytest.raises(TruncatedError, match=r"line [34]: the text ends inside a row"):
        list(PatchReader(text.encode()))
    with pytest.raises(TruncatedError):
        list(PatchReader(text.encode() + b" <_:\xc3"))
    with pytest.raises(JellyError) as caught:
        list(PatchReader(f"{text}\n".encode()))
    assert not isinstance(caught.value, TruncatedError)


# Streams that hold more or less than they say


def flat(*rows: Any) -> bytes:
    encoder = PatchEncoder(PatchOptions(stream_type="flat"))  # type: ignore[arg-type]
    return b"".join(map(delimit, [*encoder.add([*rows, END]), *encoder.finish()]))


def patch_rows(number: int, *rows: Any) -> list[Any]:
    prev = [header("prev", Iri(f"urn:{number - 1}"))] if number > 1 else []
    return [header("id", Iri(f"urn:{number}")), *prev, *rows]


def numbered(number: int) -> list[Any]:
    return [BEGIN, add(QUAD._replace(object=Literal(str(number)))), COMMIT]


@pytest.mark.parametrize("first", [[], numbered(1)])
def test_several_patches_in_a_stream_of_type_flat(first: list[Any]) -> None:
    data = flat(*patch_rows(1, *first), *patch_rows(2, *numbered(2)), *patch_rows(3, *numbered(3)))
    patches = list(read_patches(data))
    assert [each.id for each in patches] == [Iri(f"urn:{i}") for i in (1, 2, 3)]
    report = check(data)
    assert (report.patches, report.problems) == (3, [])
    [deviation] = report.deviations
    assert "frame 0: a header begins another patch in a stream that is one patch" in deviation
    assert check(data, strict=True).problems[0].message == deviation
    with pytest.raises(OrderError, match="another patch"):
        list(read_patches(data, strict=True))
    for batch_rows in (1, 2, 100):
        with PatchColumnReader(data, batch_rows=batch_rows) as batches:
            rows = [row for batch in batches for _, row in batch.others]
        ends = [place for place, row in enumerate(rows) if row is END]
        heads = [place for place, row in enumerate(rows) if row.kind is OperationKind.HEADER]
        assert len(ends) == 3
        assert [heads[0], heads[1], heads[3]] == [0, ends[0] + 1, ends[1] + 1]
    for target, function in ((Store(), replay), (Dataset(), rdflib.replay)):
        assert function(target, data).patches == 3  # type: ignore[operator]
        assert function(target, data).patches == 0  # type: ignore[operator]
    for form in ("rdfp", "trp"):
        file = io.BytesIO()
        convert([data], file, target_format=form)
        assert list(read_patches(file.getvalue())) == patches
    with pytest.raises(OrderError, match="PUNCTUATED holds several"):
        convert([data], io.BytesIO(), target_format="jellyp")
    file = io.BytesIO()
    changes = PatchOptionChanges(stream_type="punctuated")
    convert([data], file, target_format="jellyp", changes=changes)
    assert list(read_patches(file.getvalue())) == patches


def test_one_patch_in_a_stream_of_type_flat() -> None:
    data = flat(*patch_rows(1, *numbered(1), header("note", Iri("urn:n")), *numbered(2)))
    report = check(data, strict=True)
    assert (report.patches, report.problems, report.deviations) == (1, [], [])


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_zeros(size: int) -> None:
    """Jelly-JVM writes the byte 00 for a log without patches."""
    for form in (None, "jellyp"):
        with pytest.raises(JellyError):
            list(PatchReader(bytes(size), format=form))


# Logs as Jelly-JVM writes them, held against what Apache Jena reads in them


NO_GRAPH = "a namespace repeats the graph, but no row before has one"
UNMARKED = "the stream ends outside a transaction, before a mark"
SEVERAL = "a header begins another patch in a stream that is one patch"
HEADERS = ("3 headers id", "2 headers prev", "prev is the patch's own id")
#: What ``check`` says of each log.
ODD = {
    "log-quads-flat": [SEVERAL, NO_GRAPH],
    "log-quads-frame": [NO_GRAPH],
    "log-quads-punctuated": [NO_GRAPH],
    "log-triples-flat": [SEVERAL],
    "log-triples-frame": [],
    "log-triples-punctuated": [],
    "pa": [NO_GRAPH],
    "recorded": [UNMARKED],
    "unmarked-quads-flat": [SEVERAL, NO_GRAPH],
    "unmarked-quads-punctuated": [*HEADERS, NO_GRAPH, UNMARKED],
    "unmarked-triples-flat": [SEVERAL],
    "unmarked-triples-punctuated": [*HEADERS, UNMARKED],
}


def rows_of(src: Any, *, triples: bool = False) -> list[Operation]:
    """The rows of a log without the ends of patches, its blank nodes by number."""
    labels: dict[str, int] = {}

    def renamed(value: Any) -> Any:
        if isinstance(value, BlankNode):
            return labels.setdefault(value.label, len(labels))
        return tuple(map(renamed, value)) if isinstance(value, Quad | Triple) else value

    statement_type = PatchStatementType.TRIPLES if triples else PatchStatementType.QUADS
    with PatchReader(src, statement_type=statement_type) as rows:
        return [
            Operation(kind, renamed(value)) for kind, value in rows if kind is not OperationKind.END
        ]


@pytest.mark.parametrize("name", ODD)
def test_a_log_of_jelly_jvm_says_what_jena_reads_in_it(name: str) -> None:
    log: Path = shared(f"data/patch-jvm/{name}.jellyp")
    as_read = log.with_suffix(".as-read-by-jena.rdfp")
    # What Jena itself cannot read is what it was made of.
    text = (as_read if as_read.exists() else log.with_suffix(".rdfp")).read_bytes()
    triples = "triples" in name
    expected = rows_of(text.replace(b" <default> .", b" ."), triples=triples)
    assert rows_of(log) == expected
    out = io.BytesIO()
    convert([log], out, target_format="rdfp")
    assert rows_of(out.getvalue(), triples=triples) == expected
    report = check(log)
    found = [*(problem.message for problem in report.problems), *report.deviations]
    assert [any(part in each for each in found) for part in ODD[name]] == [True] * len(found)
    if set(ODD[name]) & {NO_GRAPH, UNMARKED}:
        assert not check(log, strict=True)
        with pytest.raises((StatementError, TruncatedError)):
            list(read_patches(log, strict=True))


# The same in small logs that are made here.

ID, STATEMENT = w.header("id", w.literal("1")), w.add(*w.spo())


def jelly(*rows: bytes) -> bytes:
    return delimit(w.frame(w.options(w.PUNCTUATED), *w.SPO, *rows))


def test_a_log_that_may_be_truncated_is_not_applied() -> None:
    whole = jelly(ID, w.start(), STATEMENT, w.commit())
    for truncated in (
        # In the middle of a frame.
        whole[:-1],
        # After a frame: in a transaction, and after what promises more.
        jelly(ID, w.start(), STATEMENT),
        jelly(ID),
    ):
        store = Store()
        with pytest.raises(TruncatedError):
            replay(store, truncated)
        assert count_quads(store) == 0


def test_recording_continues_a_log_without_its_last_mark(tmp_path: Path) -> None:
    path = tmp_path / "log.jellyp"
    for rows in (
        (ID, w.start(), STATEMENT, w.commit()),
        (ID, STATEMENT),
    ):
        path.write_bytes(jelly(*rows))
        store = Store()
        other = NamedNode("urn:other")
        with record(store, path) as recorder:
            assert count_quads(store) == 1
            recorder.add(OxigraphQuad(other, other, other))
        with record(store, path) as recorder:
            recorder.add(OxigraphQuad(other, other, NamedNode("urn:o")))
        first, second, _ = (len(patch.operations) for patch in read_patches(path, strict=True))
        assert (first, second) == (len(rows) - 1, 3)
        copy = Store()
        assert replay(copy, path).patches == 3
        assert count_quads(copy) == 3

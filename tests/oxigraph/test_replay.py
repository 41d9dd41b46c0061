"""What a replay makes of a log: transactions, terms, namespaces, and what it rejects."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jelly_plugins import (
    ChainError,
    ConflictError,
    JellyError,
    LimitError,
    Limits,
    LogicalType,
    PhysicalType,
    StreamOptions,
    TermError,
    TruncatedError,
)
from jelly_plugins.codec import BlankNode, Iri, Literal, Quad, Triple
from jelly_plugins.codec.patch.operations import (
    BEGIN,
    COMMIT,
    END,
    add,
    add_namespace,
    delete,
    header,
)
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph import (
    BOOKKEEPING,
    count_quads,
    dump,
    namespaces,
    positions,
    read_quads,
    replay,
)
from jelly_plugins.patch import Patch, read_patches, write_rows

from .replays import XSD, counting, data, everything, jelly_log, log, patch, patches_of, transaction

S, P, O, G = (Iri(f"urn:{letter}") for letter in "spog")  # noqa: E741


def terms(*statements: Any) -> list[Patch]:
    """A log of one patch that adds statements."""
    return [Patch([BEGIN, *map(add, statements), COMMIT])]


@pytest.mark.parametrize("form", [log, jelly_log, patches_of])
def test_every_kind_of_term(store: ox.Store, form: Callable[..., Any]) -> None:
    source = form(
        patch(
            1,
            transaction(
                "A <urn:s> <urn:p> <urn:o> .",
                "A _:a <urn:p> _:b .",
                "A _:a <urn:p> _:b <urn:g> .",
                "A _:a <urn:p> _:b _:g .",
                'A <urn:s> <urn:p> "x"@EN-gb .',
                f'A <urn:s> <urn:p> "01"^^<{XSD}integer> .',
                'A <urn:s> <urn:p> "a\\"b\\\\c\\nd" <urn:g> .',
                "A _:a <urn:p> << _:a <urn:p> << <urn:s> <urn:p> _:b >> >> _:g .",
                "A <urn:s> <urn:p> << <urn:s> <urn:p> 1 >> .",
            ),
        )
    )
    done = replay(store, source)
    assert (done.patches, done.transactions, done.operations) == (1, 1, 9)
    assert data(store) == {
        "<urn:s> <urn:p> <urn:o>",
        "_:a <urn:p> _:b",
        "_:a <urn:p> _:b <urn:g>",
        "_:a <urn:p> _:b _:g",
        '<urn:s> <urn:p> "x"@en-gb',
        f'<urn:s> <urn:p> "1"^^<{XSD}integer>',
        '<urn:s> <urn:p> "a\\"b\\\\c\\nd" <urn:g>',
        "_:a <urn:p> <<( _:a <urn:p> <<( <urn:s> <urn:p> _:b )>> )>> _:g",
        f'<urn:s> <urn:p> <<( <urn:s> <urn:p> "1"^^<{XSD}integer> )>>',
    }


def test_a_base_direction(store: ox.Store) -> None:
    literal = ox.Literal("x", language="en", direction=ox.BaseDirection.RTL)
    replay(store, terms(Triple(S, P, Literal("x", langtag="en--rtl"))))
    assert [quad.object for quad in store.quads_for_pattern(None, ox.NamedNode("urn:p"), None)] == [
        literal
    ]
    replay(store, [Patch([delete(Triple(S, P, Literal("x", langtag="EN--rtl")))])], name="other")
    assert data(store) == set()


def test_blank_nodes_are_those_of_the_store(store: ox.Store) -> None:
    node = ox.BlankNode()
    old = ox.Quad(node, ox.NamedNode("urn:p"), node, node)
    store.add(old)
    replay(store, log(patch(1, f"D {node} <urn:p> {node} {node} .", f"A <urn:s> <urn:p> {node} .")))
    assert data(store) == {f"<urn:s> <urn:p> {node}"}


@pytest.mark.parametrize("label", ["a b", "", "a:b", "label-61", "é", "0", "-x", "f" * 32])
def test_labels_that_need_a_mapping_stay_the_same_node(store: ox.Store, label: str) -> None:
    statement = Quad(BlankNode(label), P, Triple(S, P, BlankNode(label)), BlankNode(label))
    replay(store, terms(statement))
    assert len(data(store)) == 1
    replay(store, [Patch([delete(statement)])], name="other")
    assert data(store) == set()


def test_the_last_operation_on_a_statement_counts(store: ox.Store) -> None:
    replay(
        store,
        log(
            patch(
                1,
                "A <urn:s> <urn:p> 1 .",
                "D <urn:s> <urn:p> 1 .",
                "D <urn:s> <urn:p> 2 .",
                "A <urn:s> <urn:p> 2 .",
                "A _:s <urn:p> 1 .",
                "D _:s <urn:p> 1 .",
                "D _:s <urn:p> 2 .",
                "A _:s <urn:p> 2 .",
            )
        ),
        check_blank_nodes=False,
    )
    assert {text.split('"')[1] for text in data(store)} == {"2"}
    assert count_quads(store) == 2


COLLIDING = [
    ("01", "integer", "1", "integer"),
    ("1", "int", "1", "integer"),
    ("1.50", "decimal", "1.5", "decimal"),
    ("1e0", "double", "1.0E0", "double"),
    ("1", "boolean", "true", "boolean"),
    ("P12M", "duration", "P1Y", "duration"),
    ("2020-01-01T00:00:00+00:00", "dateTime", "2020-01-01T00:00:00Z", "dateTime"),
]


@pytest.mark.parametrize(("lex", "datatype", "other_lex", "other_datatype"), COLLIDING)
@pytest.mark.parametrize("subject", ["<urn:s>", "_:s"])
def test_two_forms_of_one_literal_are_one_statement(
    store: ox.Store,
    subject: str,
    lex: str,
    datatype: str,
    other_lex: str,
    other_datatype: str,
) -> None:
    one = f'{subject} <urn:p> "{lex}"^^<{XSD}{datatype}> .'
    other = f'{subject} <urn:p> "{other_lex}"^^<{XSD}{other_datatype}> .'
    replay(store, log(patch(1, f"A {one}", f"D {other}")))
    assert count_quads(store) == 0
    replay(store, log(patch(2, f"D {one}", f"A {other}")), check_blank_nodes=False)
    assert count_quads(store) == 1
    replay(store, log(patch(3, transaction(f"A {one}"), transaction(f"D {other}"))))
    assert count_quads(store) == 0
    # In a triple term too.
    one, other = (f"<urn:s> <urn:p> << {each[:-2]} >> ." for each in (one, other))
    replay(store, log(patch(4, f"A {one}", f"D {other}")))
    assert count_quads(store) == 0


_SUBJECTS = st.sampled_from([S, BlankNode("a"), BlankNode("b")])
_OBJECTS = st.sampled_from(
    [
        O,
        BlankNode("a"),
        Literal("x"),
        Literal("x", langtag="EN"),
        Literal("x", langtag="en"),
        Literal("01", datatype=f"{XSD}integer"),
        Literal("1", datatype=f"{XSD}integer"),
        Literal("1", datatype=f"{XSD}int"),
        Literal("1", datatype="urn:d"),
        Literal("01", datatype="urn:d"),
        Triple(S, P, Literal("01", datatype=f"{XSD}integer")),
        Triple(S, P, Literal("1", datatype=f"{XSD}integer")),
        Triple(BlankNode("a"), P, BlankNode("b")),
    ]
)
_STATEMENTS = st.one_of(
    st.builds(Triple, _SUBJECTS, st.just(P), _OBJECTS),
    st.builds(Quad, _SUBJECTS, st.just(P), _OBJECTS, st.sampled_from([G, BlankNode("g")])),
)
_TRANSACTIONS = st.lists(st.tuples(st.booleans(), _STATEMENTS), max_size=12)


def one_by_one(store: ox.Store, operations: list[tuple[bool, Any]]) -> None:
    """Apply operations as they come, by Oxigraph's own methods."""
    for adds, statement in operations:
        [quad] = read_quads(_stream(statement))
        (store.add if adds else store.remove)(quad)


def _stream(statement: Any) -> bytes:
    quads = len(statement) == 4
    return write_bytes(
        [statement],
        options=StreamOptions(
            physical_type=PhysicalType.QUADS if quads else PhysicalType.TRIPLES,
            logical_type=LogicalType.UNSPECIFIED,
            rdf_star=True,
        ),
    )


@given(before=_TRANSACTIONS, operations=_TRANSACTIONS)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_effect_is_that_of_one_operation_after_the_other(
    before: list[tuple[bool, Any]], operations: list[tuple[bool, Any]]
) -> None:
    expected, store = ox.Store(), ox.Store()
    for each in (expected, store):
        one_by_one(each, before)
    one_by_one(expected, operations)
    rows = [(add if adds else delete)(statement) for adds, statement in operations]
    replay(store, [Patch([BEGIN, *rows, COMMIT])], check_blank_nodes=False)
    assert data(store) == data(expected)


def test_aborted_transactions_leave_no_trace(store: ox.Store) -> None:
    store.add(ox.Quad(ox.NamedNode("urn:old"), ox.NamedNode("urn:p"), ox.NamedNode("urn:g")))
    before = data(store)
    aborted = transaction(
        "A <urn:s> <urn:p> <urn:o> <urn:g> .",
        "D <urn:old> <urn:p> <urn:g> .",
        "PA 'x' <urn:x> .",
        end="TA .",
    )
    done = replay(
        store, log(patch(1, aborted), patch(2, transaction("A _:s <urn:p> 1 ."), aborted))
    )
    assert (done.transactions, done.operations, done.aborted) == (1, 1, 2)
    assert data(store) == before | {f'_:s <urn:p> "1"^^<{XSD}integer>'}
    assert namespaces(store) == {}
    assert list(store.named_graphs()) == [BOOKKEEPING]


@pytest.mark.parametrize("commit_every", [1, 100])
def test_transactions_that_are_not_applied_are_counted(store: ox.Store, commit_every: int) -> None:
    one = transaction("A <urn:s> <urn:p> 1 .")
    aborted = transaction("D <urn:s> <urn:p> 1 .", end="TA .")
    patches = [patch(1, one, aborted, one), patch(2, aborted, one), patch(3, one, aborted, aborted)]
    found = []
    for count in (1, 1, 3, 3):
        done = replay(store, log(*patches[:count]), commit_every=commit_every)
        found.append((done.skipped, done.transactions, done.aborted))
    # Those after the last one that was applied are read again.
    assert found == [(0, 2, 1), (2, 0, 0), (2, 2, 3), (4, 0, 2)]


def test_namespaces(store: ox.Store) -> None:
    replay(
        store,
        log(
            patch(
                1,
                transaction(
                    "PA 'a' <urn:a> .",
                    "PA '' <urn:empty> .",
                    "PA 'b' <urn:b> .",
                    "PA 'a' <urn:a> <urn:g> .",
                    "PA 'n' <urn:n> _:g .",
                ),
            ),
            patch(2, transaction("PA 'a' <urn:other> .", "PD 'b' .", "PD 'nothing' .")),
        ),
    )
    assert namespaces(store) == {"a": "urn:other", "": "urn:empty"}
    assert namespaces(store, ox.NamedNode("urn:g")) == {"a": "urn:a"}
    assert namespaces(store, ox.BlankNode("g")) == {"n": "urn:n"}
    assert count_quads(store) == 0
    replay(store, [Patch([add_namespace("b c/é", Iri("urn:b"))])], name="other")
    assert namespaces(store)["b c/é"] == "urn:b"


def test_into_one_graph(store: ox.Store) -> None:
    graph = ox.NamedNode("urn:g")
    replay(store, log(patch(1, "A <urn:s> <urn:p> <urn:o> .", "PA 'x' <urn:x> .")), graph=graph)
    assert data(store) == {"<urn:s> <urn:p> <urn:o> <urn:g>"}
    assert namespaces(store, graph) == {"x": "urn:x"}
    replay(store, log(patch(2, "D <urn:s> <urn:p> <urn:o> .")), graph=graph)
    with pytest.raises(TermError, match="named graph"):
        replay(store, log(patch(3, "A _:s <urn:p> _:o <urn:h> .")), graph=graph, named_graphs=False)
    blank = ox.BlankNode("g")
    replay(store, log(patch(1, "A <urn:s> <urn:p> <urn:o> .")), graph=blank, named_graphs=False)
    assert data(store) == {"<urn:s> <urn:p> <urn:o> _:g"}
    assert {(each.patch, each.graph) for each in positions(store)} == {
        ("<urn:p:2>", "<urn:g>"),
        ("<urn:p:1>", "_:g"),
    }


def test_dump_and_count_leave_the_bookkeeping_out(store: ox.Store) -> None:
    replay(store, log(patch(1, "A <urn:s> <urn:p> <urn:o> <urn:g> .", "A <urn:s> <urn:p> 1 .")))
    for order in ("store", "subject"):
        file = BytesIO()
        assert dump(store, file, order=order) == count_quads(store) == 2
        assert {str(quad) for quad in read_quads(file.getvalue())} == data(store)
    assert dump(store, BytesIO(), bookkeeping=True) == len(store)
    assert dump(store, BytesIO(), graph=BOOKKEEPING) == len(store) - 2


def test_progress(store: ox.Store) -> None:
    reported: list[int] = []
    replay(store, log(*counting(3, 2)), progress=reported.append)
    assert reported == [2, 2, 2]


def _file(data: bytes, tmp_path: Path) -> Any:
    path = tmp_path / "log"
    path.write_bytes(data)
    return path


class Pipe(io.RawIOBase):
    """Bytes that come once."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(buffer)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda data, _: data, id="bytes"),
        pytest.param(_file, id="path"),
        pytest.param(lambda data, _: io.BytesIO(data), id="file"),
        pytest.param(lambda data, _: list(read_patches(data)), id="patches"),
    ],
)
@pytest.mark.parametrize("write", [log, jelly_log])
def test_until_a_patch_that_is_not_there(
    store: ox.Store, tmp_path: Path, source: Any, write: Any
) -> None:
    data_of_log = write(*counting(3))
    with pytest.raises(ChainError, match="no patch <urn:p:4>; nothing was applied") as caught:
        replay(store, source(data_of_log, tmp_path), until="urn:p:4")
    assert caught.value.expected == "<urn:p:4>"
    assert everything(store) == set()
    # Looking for it has used nothing up.
    assert replay(store, source(data_of_log, tmp_path), until="urn:p:2").patches == 2


class Reads:
    """The least that a file can do."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


@pytest.mark.parametrize(
    "source",
    [Pipe, Reads, lambda data: (each for each in read_patches(data))],
    ids=["pipe", "reader", "iterator"],
)
def test_until_a_patch_that_is_not_there_read_once(store: ox.Store, source: Any) -> None:
    with pytest.raises(ChainError, match="no patch <urn:p:4>; it was read to its end"):
        replay(store, source(log(*counting(3))), until="urn:p:4")
    assert len(data(store)) == 3


def test_until_a_patch_behind_something_wrong(store: ox.Store) -> None:
    broken = log(*counting(2), patch(3, "A nonsense ."), *counting(4)[3:])
    with pytest.raises(JellyError, match="patch <urn:p:3>"):
        replay(store, broken, until="urn:p:4")
    # What comes before it is applied, as without until.
    assert len(data(store)) == 2
    assert replay(ox.Store(), broken, until="urn:p:2").patches == 2


@pytest.mark.parametrize("until", ["urn:p:2", "<urn:p:2>"])
def test_until(store: ox.Store, until: str) -> None:
    assert replay(store, log(*counting(4)), until=until).patches == 2
    assert replay(store, log(*counting(4)), until=until).patches == 0
    assert count_quads(store) == 2
    assert replay(store, log(*counting(4))).patches == 2


def test_dry_run(store: ox.Store) -> None:
    done = replay(store, log(*counting(4)), dry_run=True)
    assert (done.patches, done.operations) == (4, 4)
    assert everything(store) == set()
    replay(store, log(*counting(2)))
    assert replay(store, log(*counting(4)), dry_run=True).patches == 2
    with pytest.raises(JellyError, match="<urn:p:9>"):
        replay(store, log(*counting(4), patch(5, prev=9)), dry_run=True)
    assert count_quads(store) == 2


STRICT = {
    "added twice": ["A <urn:s> <urn:p> 1 .", "A <urn:s> <urn:p> 1 ."],
    "added in two forms": ["A <urn:s> <urn:p> 1 .", f'A <urn:s> <urn:p> "01"^^<{XSD}integer> .'],
    "there": ["A _:s <urn:p> <urn:o> ."],
    "not there": ["D _:s <urn:p> <urn:o> <urn:g> ."],
    "deleted twice": ["D _:s <urn:p> <urn:o> .", "D _:s <urn:p> <urn:o> ."],
    "deleted and gone again": [
        "A <urn:s> <urn:p> 1 .",
        "D <urn:s> <urn:p> 1 .",
        "D <urn:s> <urn:p> 1 .",
    ],
}


@pytest.mark.parametrize("rows", STRICT.values(), ids=STRICT)
def test_strict(store: ox.Store, rows: list[str]) -> None:
    opening = patch(1, "A _:s <urn:p> <urn:o> .")
    replay(store, log(opening))
    before = everything(store)
    source = log(opening, patch(2, transaction("A <urn:new> <urn:p> _:o .", *rows)))
    with pytest.raises(ConflictError, match=r"patch <urn:p:2>: the statement .* <urn:p> .* there"):
        replay(store, source, check_unmatched=True)
    assert everything(store) == before
    assert replay(store, source, check_blank_nodes=False).transactions == 1


@pytest.mark.parametrize("group", [1, 100])
def test_deletions_that_match_nothing_are_counted(store: ox.Store, group: int) -> None:
    source = log(
        patch(1, "A <urn:s> <urn:p> 1 .", "A <urn:s> <urn:p> 2 .", "D <urn:s> <urn:p> 3 ."),
        patch(2, "D <urn:s> <urn:p> 1 .", "D <urn:s> <urn:p> 1 .", "D <urn:s> <urn:p> 2 ."),
        patch(3, "D <urn:s> <urn:p> 2 .", "A <urn:s> <urn:p> 2 .", "D <urn:s> <urn:p> 2 ."),
    )
    assert replay(store, source, commit_every=group).unmatched == 3
    assert count_quads(store) == 0


@pytest.mark.parametrize("group", [1, 100])
@pytest.mark.parametrize(
    "row",
    [
        "D _:b <urn:p> <urn:o> .",
        "D <urn:s> <urn:p> _:b .",
        "D <urn:s> <urn:p> <urn:o> _:b .",
        "D <urn:s> <urn:p> <<( <urn:s> <urn:p> _:b )>> .",
    ],
)
def test_a_deletion_with_a_blank_node_has_to_match(store: ox.Store, row: str, group: int) -> None:
    source = log(
        patch(1, "A _:a <urn:p> <urn:o> .", "D <urn:no> <urn:p> <urn:o> ."),
        patch(2, "A <urn:new> <urn:p> <urn:o> .", row),
        patch(3, "A <urn:newer> <urn:p> <urn:o> ."),
    )
    with pytest.raises(ConflictError, match=r"patch <urn:p:2>: the statement .*_:b.* labels"):
        replay(store, source, commit_every=group)
    assert data(store) == {"_:a <urn:p> <urn:o>"}
    done = replay(store, source, commit_every=group, check_blank_nodes=False)
    assert (done.transactions, done.unmatched, count_quads(store)) == (2, 1, 3)


def test_the_graph_in_place_of_the_default_graph_may_be_a_blank_node(store: ox.Store) -> None:
    source = log(patch(1, "D <urn:s> <urn:p> 1 ."))
    assert replay(store, source, graph=ox.BlankNode("g")).unmatched == 1


def test_strict_lets_changes_through(store: ox.Store) -> None:
    rows = ["A _:s <urn:p> 1 .", "D _:s <urn:p> 1 .", "A _:s <urn:p> 1 .", "A <urn:s> <urn:p> 1 ."]
    source = log(patch(1, transaction(*rows)), patch(2, *(f"D{row[1:]}" for row in rows[2:])))
    replay(store, source, check_unmatched=True)
    assert count_quads(store) == 0


BAD_ROWS: list[Any] = [
    Triple(Literal("x"), P, O),
    Triple(S, BlankNode("p"), O),
    Triple(Triple(S, P, O), P, O),
    Triple(S, P, Triple(Triple(S, P, O), P, O)),
    Triple(S, P, Triple(S, BlankNode("p"), O)),
    Triple(S, P, Triple(Literal("x"), P, O)),
    Quad(S, P, O, Literal("g")),
    Triple(S, P, Literal("x", langtag="not a tag")),
    Triple(S, P, Literal("x", datatype="no iri")),
    Triple(S, P, Iri("relative")),
    Quad(S, P, O, Iri(BOOKKEEPING.value)),
]


@pytest.mark.parametrize("bad", BAD_ROWS, ids=str)
def test_what_the_store_cannot_hold(store: ox.Store, bad: Any) -> None:
    good = Patch([BEGIN, add(Triple(S, P, O)), COMMIT], [("id", Iri("urn:p:1"))])
    worse = Patch(
        [BEGIN, add(Triple(BlankNode("b"), P, O)), add(bad), add(Triple(S, P, P)), COMMIT],
        [("id", Iri("urn:p:2"))],
    )
    replay(store, [good])
    before = everything(store)
    with pytest.raises(TermError):
        replay(store, [good, worse])
    assert everything(store) == before


@pytest.mark.parametrize("size", range(1, 60, 3))
def test_a_torn_tail(store: ox.Store, size: int) -> None:
    whole = jelly_log(*counting(3))
    end = len(jelly_log(*counting(2)))
    truncated = whole[: end + size]
    if len(truncated) >= len(whole):
        pytest.skip("longer than the last patch")
    with pytest.raises(TruncatedError):
        replay(store, truncated)
    assert count_quads(store) == 2
    assert replay(store, whole).patches == 1
    assert count_quads(store) == 3


def test_a_torn_patch_leaves_the_store_as_it_was(store: ox.Store) -> None:
    rows = [f"A <urn:s> <urn:p> {i} ." for i in range(2000)]
    whole = jelly_log(patch(1, transaction(*rows)))
    before = everything(store)
    for size in range(100, len(whole), len(whole) // 20):
        with pytest.raises(TruncatedError) as caught:
            replay(store, whole[:size])
        assert "<urn:p:1>" in str(caught.value) or caught.value.frame == 0
        assert everything(store) == before
    with pytest.raises(TruncatedError, match=r"<urn:p:1>.*inside a transaction"):
        replay(store, log(patch(1, "TX .", *rows[:5]).replace("Z .", "")))
    assert everything(store) == before


def test_the_error_names_the_patch(store: ox.Store) -> None:
    source = log(*counting(2)) + b"H id <urn:p:3> .\nTX .\nA <urn:s> <urn:p> nonsense .\n"
    with pytest.raises(JellyError, match="<urn:p:3>"):
        replay(store, source)
    assert count_quads(store) == 2
    without_ids = b"TX .\nA <urn:s> <urn:p> 1 .\nTC .\nZ .\nTX .\nA <urn:s> <urn:p> nonsense .\n"
    with pytest.raises(JellyError, match="patch number 2"):
        replay(store, without_ids)


def test_following_needs_a_source_of_bytes(store: ox.Store) -> None:
    with pytest.raises(ValueError, match="bytes"):
        replay(store, [], follow=True)


@pytest.mark.parametrize("kind", [add, delete])
@pytest.mark.parametrize("strict", [False, True])
def test_what_a_transaction_repeats_of_long_terms_is_bounded(kind: Any, strict: bool) -> None:
    """Jelly-Patch leaves out a term that is repeated; the store makes a copy for each row."""
    long = Literal("o" * (1 << 20))
    statements = [Triple(Iri(f"urn:s:{k}"), Iri("urn:p"), long) for k in range(2000)]
    before = Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))
    rows = [header("id", Iri("urn:log")), BEGIN, add(before), COMMIT]
    rows += [BEGIN, *map(kind, statements), COMMIT, END]
    log = io.BytesIO()
    write_rows(rows, log)
    store = ox.Store()
    tracemalloc.start()
    try:
        with pytest.raises(LimitError, match=r"<urn:log>: .* repeats .*Limits\.frame_expansion"):
            replay(store, log.getvalue(), check_unmatched=strict)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert len(data(store)) == 1
    # With a higher limit, or fewer of them, it is applied.
    few = io.BytesIO()
    write_rows([BEGIN, *map(add, statements[:3]), COMMIT, END], few)
    with pytest.raises(LimitError):
        replay(store, few.getvalue(), limits=Limits(frame_expansion=3 << 19))
    replay(store, few.getvalue())
    assert len(data(store)) == 4

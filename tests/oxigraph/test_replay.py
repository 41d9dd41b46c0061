"""What a replay makes of a log: transactions, one by one and in groups, terms, namespaces, and
what it rejects."""

from __future__ import annotations

import gc
import io
import os
import random
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import ChainError, JellyError, LimitError, Limits, OptionsError, TermError
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
from jelly_plugins.io.sources import name_of
from jelly_plugins.oxigraph import (
    BOOKKEEPING,
    count_quads,
    namespaces,
    positions,
    replay,
    set_position,
)
from jelly_plugins.oxigraph.patches import store as transaction_module
from jelly_plugins.patch import Patch, Position, read_patches, write_rows

from .support import (
    REJECTED,
    contents,
    counting,
    data,
    jelly_log,
    log,
    number_of,
    patch,
    patches_of,
    transaction,
)

S, P, O, G = (Iri(f"urn:{letter}") for letter in "spog")  # noqa: E741


def test_a_base_direction(store: ox.Store) -> None:
    literal = ox.Literal("x", language="en", direction=ox.BaseDirection.RTL)
    replay(store, [Patch([add(Triple(S, P, Literal("x", langtag="en--rtl")))])])
    [quad] = store.quads_for_pattern(None, ox.NamedNode("urn:p"), None)
    assert quad.object == literal
    replay(store, [Patch([delete(Triple(S, P, Literal("x", langtag="EN--rtl")))])], name="other")
    assert data(store) == set()


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


def _file(data: bytes, tmp_path: Path) -> Any:
    path = tmp_path / "log"
    path.write_bytes(data)
    return path


class Reads:
    """The least that a file can do: its bytes come once."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


@pytest.mark.parametrize(
    ("source", "read_twice"),
    [
        pytest.param(lambda data, _: data, True, id="bytes"),
        pytest.param(_file, True, id="path"),
        pytest.param(lambda data, _: io.BytesIO(data), True, id="file"),
        pytest.param(lambda data, _: list(read_patches(data)), True, id="patches"),
        pytest.param(lambda data, _: Reads(data), False, id="reader"),
        pytest.param(lambda data, _: iter(list(read_patches(data))), False, id="iterator"),
    ],
)
@pytest.mark.parametrize("write", [log, jelly_log])
def test_until_a_patch_that_is_not_there(
    store: ox.Store, tmp_path: Path, source: Any, read_twice: bool, write: Any
) -> None:
    given = source(write(*counting(3)), tmp_path)
    what = "nothing was applied" if read_twice else "it was read to its end"
    with pytest.raises(ChainError, match=f"no patch <urn:p:4>; {what}") as caught:
        replay(store, given, until="urn:p:4")
    assert caught.value.expected == "<urn:p:4>"
    is_patches = isinstance(given, Iterable) and not isinstance(given, bytes | Path | io.BytesIO)
    assert caught.value.source == (None if is_patches else name_of(given))
    assert len(data(store)) == (0 if read_twice else 3)
    if read_twice:
        # Looking for it has used nothing up.
        assert replay(store, given, until="urn:p:2").patches == 2


def test_until_a_patch_behind_something_wrong(store: ox.Store) -> None:
    broken = log(*counting(2), patch(3, "A nonsense ."), *counting(4)[3:])
    with pytest.raises(JellyError, match="patch <urn:p:3>"):
        replay(store, broken, until="urn:p:4")
    # What comes before it is applied, as without until.
    assert len(data(store)) == 2
    for until in ("urn:p:2", "<urn:p:2>"):
        assert replay(ox.Store(), broken, until=until).patches == 2


def test_dry_run(store: ox.Store) -> None:
    done = replay(store, log(*counting(4)), dry_run=True)
    assert (done.patches, done.operations) == (4, 4)
    assert contents(store) == set()
    replay(store, log(*counting(2)))
    assert replay(store, log(*counting(4)), dry_run=True).patches == 2
    with pytest.raises(JellyError, match="<urn:p:9>"):
        replay(store, log(*counting(4), patch(5, prev=9)), dry_run=True)
    assert count_quads(store) == 2


RESERVED = (Quad(S, P, O, Iri(BOOKKEEPING.value)), "bookkeeping")


@pytest.mark.parametrize(("bad", "message"), [*REJECTED, RESERVED])
def test_what_the_store_cannot_hold(store: ox.Store, bad: Any, message: str) -> None:
    good = Patch([BEGIN, add(Triple(S, P, O)), COMMIT], [("id", Iri("urn:p:1"))])
    worse = Patch(
        [BEGIN, add(Triple(BlankNode("b"), P, O)), add(bad), add(Triple(S, P, P)), COMMIT],
        [("id", Iri("urn:p:2"))],
    )
    replay(store, [good])
    before = contents(store)
    with pytest.raises(TermError, match=f"^patch <urn:p:2>: .*{message}"):
        replay(store, [good, worse])
    assert contents(store) == before


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


# Positions; ``patch/test_exactly_once`` and ``patch/test_reference_model`` have the rules

#: A statement that comes and goes: repeating any of it would show.
SWINGING = [
    patch(number, transaction(f"{'DA'[number % 2]} _:s <urn:p> 1 .", f"A _:s <urn:q> {number} ."))
    for number in range(1, 7)
]


def test_a_store_that_was_filled_otherwise(store: ox.Store) -> None:
    head = Position(log="<urn:p:1>", patch="<urn:p:2>", transactions=1, complete=True)
    set_position(store, head)
    assert positions(store) == [head]
    assert replay(store, log(*SWINGING[2:])).patches == 4
    set_position(store, head)
    assert positions(store) == [head]


@pytest.mark.parametrize("value", ['"x"@en', '"a > } \\" b"', "_:b", '"1"^^<urn:d>'])
def test_an_id_may_be_any_term(store: ox.Store, value: str) -> None:
    opening = f"H id {value} .\nA <urn:s> <urn:p> 1 .\n"
    source = f"{opening}Z .\nH id <urn:p:2> .\nH prev {value} .\nA <urn:s> <urn:p> 2 .\n"
    assert replay(store, opening.encode()).patches == 1
    assert replay(store, source.encode()).patches == 1
    assert replay(store, source.encode()).patches == 0


# Logs that were cut, flipped and spliced: a result or a JellyError, and whole transactions

#: Each transaction changes several quads, and each patch has more than one transaction.
SEVERAL = [
    patch(
        number,
        transaction(
            f"A <urn:s> <urn:p> {number} .",
            f'A _:b{number} <urn:p> "text {number}"@en <urn:g> .',
            f"D <urn:s> <urn:p> {number - 2} .",
        ),
        transaction("A <urn:undone> <urn:p> 1 .", end="TA ."),
        f"PA 'ex' <urn:ex:{number}> .",
        transaction(*(f"A <urn:more:{number}> <urn:p> {each} ." for each in range(5))),
    )
    for number in range(1, 7)
]


def rejected(store: ox.Store, source: Any) -> JellyError | None:
    """Replay a log; the error with which it is rejected, if it is."""
    try:
        replay(store, source)
    except JellyError as error:
        return error
    return None


def states(source: bytes) -> list[set[str]]:
    """All data that a store goes through, transaction by transaction."""
    store = ox.Store()
    found: list[set[str]] = [set()]
    replay(store, source, commit_every=1, progress=lambda _: found.append(data(store)))
    return found


@pytest.mark.parametrize("write", [log, jelly_log])
def test_truncated_at_every_byte(write: Any) -> None:
    whole = write(*SEVERAL[:3])
    known = states(whole)
    for length in range(0, len(whole), 1 if write is jelly_log else 5):
        store = ox.Store()
        error = rejected(store, whole[:length])
        assert data(store) in known
        if write is jelly_log:
            assert error is not None or data(store) in known[1:]
            # What is missing comes with the whole of it. Text does not tell where it was cut: the
            # end of a file is the end of its last patch.
            replay(store, whole)
            assert data(store) == known[-1]


@pytest.mark.parametrize("write", [log, jelly_log])
@pytest.mark.parametrize("seed", range(100))
def test_a_broken_log_gives_a_result_or_an_error(write: Any, seed: int) -> None:
    rng = random.Random(f"{write.__name__}/{seed}")
    broken = bytearray(write(*SEVERAL))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(broken))
        kind = rng.randrange(4)
        if kind == 0:
            broken[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del broken[at : at + rng.randrange(1, 9)]
        elif kind == 2:
            broken[at:at] = broken[at : at + rng.randrange(1, 60)]
        else:
            broken[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5)))
    store = ox.Store()
    applied: list[set[str]] = [set()]
    with suppress(JellyError):
        replay(
            store,
            bytes(broken),
            commit_every=1,
            progress=lambda _: applied.append(data(store)),
        )
    # Nothing is left of a transaction that was not applied.
    assert data(store) == applied[-1]
    assert len(positions(store)) <= 1


# Transactions that are applied together have the same effect as one by one


GROUPS = (1, 2, 10, 1000)
#: Operations of a large transaction.
MANY = 600


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the updates that stores were asked for."""
    found: list[str] = []
    run = transaction_module.Update.run

    def noted(self: transaction_module.Update, *args: Any, **settings: Any) -> None:
        found.append(";".join(self._parts))
        run(self, *args, **settings)

    monkeypatch.setattr(transaction_module.Update, "run", noted)
    return found


@pytest.mark.parametrize(
    ("patches", "group", "expected"),
    [
        *((counting(40), group, most) for group, most in ((None, 1), (1, 40), (7, 6), (40, 1))),
        # Operations of a group are bounded, and so is their text.
        (counting(5, 4000), None, 3),
        ([patch(n, f'A <urn:s> <urn:p> "{n}{"x" * 1_500_000}" .') for n in range(1, 5)], 1000, 2),
    ],
    ids=["default", "1", "7", "40", "many operations", "long terms"],
)
def test_so_many_updates(
    store: ox.Store, updates: list[str], patches: list[str], group: int | None, expected: int
) -> None:
    assert replay(store, log(*patches), commit_every=group).transactions == len(patches)
    assert len(updates) == expected


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("size", [1, MANY])
@pytest.mark.parametrize("bad", [1, 5, 9])
def test_a_transaction_that_is_rejected(store: ox.Store, group: int, size: int, bad: int) -> None:
    patches = counting(9, size)
    patches[bad - 1] = patches[bad - 1].replace(
        "TC .", "A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> .\nTC ."
    )
    with pytest.raises(JellyError, match=f"patch <urn:p:{bad}>: ") as caught:
        replay(store, log(*patches), commit_every=group)
    assert str(caught.value).count("patch <urn") == 1
    expected = ox.Store()
    if bad > 1:
        replay(expected, log(*counting(bad - 1, size)))
    assert data(store) == data(expected)
    assert [(each.patch, each.transactions) for each in positions(store)] == [
        (each.patch, each.transactions) for each in positions(expected)
    ]
    assert replay(store, log(*counting(9, size)), commit_every=group).transactions == 10 - bad


@pytest.mark.parametrize("size", [1, MANY])
def test_what_was_told_is_applied(store: ox.Store, size: int) -> None:
    reported = []

    def progress(operations: int) -> None:
        reported.append(operations)
        assert count_quads(store) >= sum(reported)
        [position] = positions(store)
        assert number_of(position) >= len(reported)

    replay(store, log(*counting(9, size)), commit_every=4, progress=progress)
    assert len(reported) == 9


def test_patches_that_are_waited_for_are_applied_one_by_one(store: ox.Store) -> None:
    patches = patches_of(*counting(5))
    counts = []

    def given() -> Iterator[Patch]:
        for each in patches:
            counts.append(count_quads(store))
            yield each

    replay(store, given())
    # Each is applied once the end of its patch was read.
    assert counts == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("write", [log, jelly_log])
@pytest.mark.parametrize("follow", [False, True])
def test_a_pipe_that_gives_no_more_for_now(
    store: ox.Store, write: Any, follow: bool, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "log")
    settings = {"follow": follow, "stop": lambda: True}
    thread = threading.Thread(target=replay, args=(store, tmp_path / "log"), kwargs=settings)
    thread.start()
    with open(tmp_path / "log", "wb", buffering=0) as out:
        out.write(write(*counting(7)))
        while count_quads(store) < 6:
            assert thread.is_alive()
    thread.join()
    assert count_quads(store) == 7


def test_no_group_at_all(store: ox.Store) -> None:
    with pytest.raises(OptionsError, match="commit_every must be at least 1"):
        replay(store, log(*counting(1)), commit_every=0)


@pytest.mark.parametrize("group", GROUPS)
def test_progress_that_raises_ends_it(store: ox.Store, group: int) -> None:
    """Nothing is reported afterwards, and nothing is applied but the rest of its group."""
    reported = []

    def progress(operations: int) -> None:
        reported.append(operations)
        if len(reported) == 3:
            raise ValueError("that is enough")

    with pytest.raises(ValueError, match="that is enough"):
        replay(store, log(*counting(40, 300)), commit_every=group, progress=progress)
    assert reported == [300] * 3
    [position] = positions(store)
    last = {1: 3, 2: 4, 10: 10, 1000: 33}[group]
    assert (number_of(position), count_quads(store)) == (last, last * 300)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("size", [1, MANY])
def test_a_store_that_was_rejected_something_can_be_opened_again(
    tmp_path: Path, group: int, size: int
) -> None:
    store = ox.Store(tmp_path / "store")
    wrong = patch(4, transaction("A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> ."))
    gc.collect()
    gc.disable()
    try:
        # What pytest.raises keeps would lead to the store.
        with suppress(JellyError):
            replay(store, log(*counting(3, size), wrong), commit_every=group)
        del store
        assert count_quads(ox.Store(tmp_path / "store")) == 3 * size
    finally:
        gc.enable()


class LateError(Exception):
    """What the handler of a signal raises."""


@pytest.mark.parametrize("error", [LateError, KeyboardInterrupt])
@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("group", [1, 2, 7, 10])
def test_what_a_signal_raises_is_no_fault_of_a_transaction(
    store: ox.Store,
    monkeypatch: pytest.MonkeyPatch,
    group: int,
    applied: bool,
    error: type[BaseException],
) -> None:
    """It comes out of the replay, and the position is that of what was applied."""
    run = transaction_module.Update.run
    updates = 0

    def interrupted(self: transaction_module.Update, *args: Any, **settings: Any) -> None:
        nonlocal updates
        updates += 1
        if updates != 2 or applied:
            run(self, *args, **settings)
        if updates == 2:
            raise error

    monkeypatch.setattr(transaction_module.Update, "run", interrupted)
    patches = counting(30)
    with pytest.raises(error):
        replay(store, log(*patches), commit_every=group)
    [position] = positions(store)
    assert count_quads(store) == number_of(position) == group * (1 + applied)
    assert replay(store, log(*patches)).transactions == len(patches) - number_of(position)

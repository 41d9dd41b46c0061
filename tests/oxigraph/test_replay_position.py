"""Positions of a store in logs, and logs that do not continue from there. The rules themselves are
tested in ``patch/test_selection`` without stores, and in ``patch/test_reference_model``."""

from __future__ import annotations

from io import BytesIO

import pyoxigraph as ox
import pytest

from jelly_plugins import ChainError, JellyError, OrderError
from jelly_plugins.codec import Iri, PatchOptions, PatchStreamType
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, header
from jelly_plugins.oxigraph import count_quads, positions, replay, set_position
from jelly_plugins.patch import Patch, read_patches, write_patches
from jelly_plugins.patch.replay.position import Position

from .replays import everything, jelly_log, log, patch, transaction

#: A statement that comes and goes: repeating any of it would show.
SWINGING = [
    patch(number, transaction(f"{'DA'[number % 2]} _:s <urn:p> 1 .", f"A _:s <urn:q> {number} ."))
    for number in range(1, 7)
]


def test_the_rest_of_a_patch(store: ox.Store) -> None:
    several = [transaction(f"{'AD'[i % 2]} <urn:s> <urn:p> 1 .") for i in range(5)]
    whole = log(patch(1, *several), patch(2, "A <urn:s> <urn:q> 2 ."))

    def stop(_: object) -> None:
        raise InterruptedError

    for number in range(1, 6):
        with pytest.raises(InterruptedError):
            replay(store, whole, commit_every=1, progress=stop)
        [position] = positions(store)
        assert (position.patch, position.transactions) == ("<urn:p:1>", number)
        assert position.complete is (number == 5)
        assert count_quads(store) == number % 2
    done = replay(store, whole)
    assert (done.patches, done.transactions, done.skipped) == (1, 1, 5)


def test_a_gap_inside_a_log(store: ox.Store) -> None:
    gap = log(*SWINGING[:3], *SWINGING[4:])
    with pytest.raises(ChainError, match=r"patch <urn:p:5>: .* <urn:p:4>.* <urn:p:3>") as caught:
        replay(store, gap)
    assert (caught.value.expected, caught.value.found) == ("<urn:p:3>", "<urn:p:4>")
    before = everything(store)
    with pytest.raises(ChainError):
        replay(store, gap)
    assert everything(store) == before
    assert replay(store, gap, check_prev=False).patches == 2


def test_a_log_that_starts_in_the_middle(store: ox.Store) -> None:
    with pytest.raises(ChainError, match=r"patch <urn:p:3>: .*<urn:p:2>.* nothing was applied"):
        replay(store, log(*SWINGING[2:]))
    assert everything(store) == set()
    assert replay(store, log(*SWINGING[2:]), check_prev=False).patches == 4
    assert replay(store, log(*SWINGING[2:])).patches == 0


def test_a_store_that_was_filled_otherwise(store: ox.Store) -> None:
    head = Position(log="<urn:p:1>", patch="<urn:p:2>", transactions=1, complete=True)
    set_position(store, head)
    assert positions(store) == [head]
    assert replay(store, log(*SWINGING[2:])).patches == 4
    set_position(store, head)
    assert positions(store) == [head]


def test_another_branch_of_the_log(store: ox.Store) -> None:
    replay(store, log(*SWINGING[:4]))
    before = everything(store)
    branch = patch(30, "A <urn:s> <urn:p> 30 .", prev=3)
    for other in ([*SWINGING[:3], branch], SWINGING[:2], [branch]):
        with pytest.raises(ChainError, match="<urn:p:4>"):
            replay(store, log(*other))
        assert everything(store) == before


def test_patches_without_prev(store: ox.Store) -> None:
    loose = [patch(number, f"A <urn:s> <urn:p> {number} .", prev="") for number in range(1, 4)]
    assert replay(store, log(*loose[:2])).patches == 2
    assert replay(store, log(*loose)).patches == 1


def test_several_logs(store: ox.Store) -> None:
    other = [each.replace("urn:p:", "urn:other:") for each in SWINGING]
    for size in (2, 4, 6):
        assert replay(store, log(*SWINGING[:size])).patches == 2
        assert replay(store, log(*other[:size])).patches == 2
    assert {each.log for each in positions(store)} == {"<urn:p:1>", "<urn:other:1>"}


def test_a_log_with_a_name(store: ox.Store) -> None:
    name = "a > } log/é"
    assert replay(store, log(*SWINGING[:2]), name=name).patches == 2
    assert replay(store, log(*SWINGING[2:]), name=name).patches == 4
    assert replay(store, log(*SWINGING), name=name).patches == 0
    assert [each.log for each in positions(store)] == [name]
    with pytest.raises(ChainError, match="<urn:p:6>"):
        replay(store, log(patch(8, prev=7)), name=name)


@pytest.mark.parametrize("form", [log, jelly_log])
def test_patches_without_ids(store: ox.Store, form: object) -> None:
    """With a name the log has a position; without, it is applied from its beginning each time."""
    assert callable(form)
    plain = [
        patch(None, transaction(f"{'AD'[number % 2]} _:s <urn:p> 1 .", f"PA 'n{number}' <urn:n> ."))
        for number in range(6)
    ]
    done = replay(store, form(*plain[:1]), name="log")
    assert done.position == Position(log="log", patch="1", transactions=1, complete=True)
    assert done.advice == ""
    assert replay(store, form(*plain[:4]), name="log").patches == 3
    assert replay(store, form(*plain[:4]), name="log").patches == 0
    assert replay(store, form(*plain), name="log").patches == 2
    before = everything(store)
    with pytest.raises(ChainError, match="the store is at patch 6, which the log does not have"):
        replay(store, form(*plain[:3]), name="log")
    assert everything(store) == before
    for size in (6, 6, 3, 6):
        done = replay(store, form(*plain[:size]))
        assert (done.patches, done.position) == (size, None)
        assert "give the log a name" in done.advice
    assert everything(store) == before
    assert [each.log for each in positions(store)] == ["log"]


def test_a_stream_that_is_one_patch(store: ox.Store) -> None:
    rows = [transaction(f"{'AD'[i % 2]} <urn:s> <urn:p> 1 .") for i in range(6)]
    for size in (3, 6):
        file = BytesIO()
        write_patches(
            read_patches(log(patch(None, *rows[:size]))),
            file,
            options=PatchOptions(stream_type=PatchStreamType.FLAT),
        )
        done = replay(store, file.getvalue(), name="log")
        assert (done.transactions, done.skipped) == (3, size - 3)
    assert count_quads(store) == 0


def test_patches_that_change_nothing(store: ox.Store) -> None:
    empty = [
        patch(1),
        patch(2, transaction()),
        patch(3, transaction("A <urn:s> <urn:p> 1 .", end="TA .")),
        patch(4, 'H note "x" .'),
        patch(5, "A <urn:s> <urn:p> 5 ."),
    ]
    for size in range(1, 6):
        assert replay(store, log(*empty[:size])).patches == 1
        [position] = positions(store)
        assert position.patch == f"<urn:p:{size}>"
        assert position.complete
    assert count_quads(store) == 1


@pytest.mark.parametrize("key", ["id", "prev"])
def test_an_id_behind_a_transaction(store: ox.Store, key: str) -> None:
    # Text takes such a header for that of the next patch.
    rows = [BEGIN, COMMIT, header(key, Iri("urn:p:1")), BEGIN, COMMIT]
    with pytest.raises(OrderError, match=f"'{key}' comes after a transaction"):
        replay(store, [Patch(iter(rows))])


def test_headers_inside_the_first_transaction(store: ox.Store) -> None:
    source = b"TX .\nH id <urn:p:1> .\nA <urn:s> <urn:p> 1 .\nTC .\n"
    replay(store, source)
    assert [each.patch for each in positions(store)] == ["<urn:p:1>"]


@pytest.mark.parametrize("value", ['"x"@en', '"a > } \\" b"', "_:b", '"1"^^<urn:d>'])
def test_an_id_may_be_any_term(store: ox.Store, value: str) -> None:
    opening = f"H id {value} .\nA <urn:s> <urn:p> 1 .\n"
    source = f"{opening}Z .\nH id <urn:p:2> .\nH prev {value} .\nA <urn:s> <urn:p> 2 .\n"
    assert replay(store, opening.encode()).patches == 1
    assert replay(store, source.encode()).patches == 1
    assert replay(store, source.encode()).patches == 0


def test_a_replay_that_is_rejected_says_it_as_a_jelly_error(store: ox.Store) -> None:
    with pytest.raises(JellyError):
        replay(store, b"no patch at all")
    with pytest.raises(JellyError):
        replay(store, b"")

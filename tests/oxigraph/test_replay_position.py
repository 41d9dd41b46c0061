"""Positions of a store in logs, and logs that do not continue from there. The rules themselves are
tested in ``patch/test_selection`` without stores, and in ``patch/test_reference_model``."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from jelly_plugins import ChainError
from jelly_plugins.oxigraph import positions, replay, set_position
from jelly_plugins.patch.replay.positions import Position

from .replays import everything, jelly_log, log, patch, transaction

#: A statement that comes and goes: repeating any of it would show.
SWINGING = [
    patch(number, transaction(f"{'DA'[number % 2]} _:s <urn:p> 1 .", f"A _:s <urn:q> {number} ."))
    for number in range(1, 7)
]


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


@pytest.mark.parametrize("value", ['"x"@en', '"a > } \\" b"', "_:b", '"1"^^<urn:d>'])
def test_an_id_may_be_any_term(store: ox.Store, value: str) -> None:
    opening = f"H id {value} .\nA <urn:s> <urn:p> 1 .\n"
    source = f"{opening}Z .\nH id <urn:p:2> .\nH prev {value} .\nA <urn:s> <urn:p> 2 .\n"
    assert replay(store, opening.encode()).patches == 1
    assert replay(store, source.encode()).patches == 1
    assert replay(store, source.encode()).patches == 0

"""Positions of a store in logs, and logs that do not continue from there. The rules themselves are
tested in ``patch/test_selection`` without stores, and in ``patch/test_reference_model``."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from jelly_plugins.oxigraph import positions, replay, set_position
from jelly_plugins.patch.replay.positions import Position

from .replays import log, patch, transaction

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

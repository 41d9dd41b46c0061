"""Run ``tests.fuzz.graphs`` for some seconds."""

from __future__ import annotations

from .graphs import TARGETS, run

CASES = 60


def test_streams_of_graphs_are_read_whole_or_not_at_all() -> None:
    rejected = run(range(CASES))
    assert set(rejected) == set(TARGETS)
    assert 0 < sum(rejected.values()) < CASES * len(TARGETS)

"""Random logs, given in parts and again: the shards have what one store has."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jelly_plugins.spark.shards import ShardedStore

from .logs import apply, assert_same
from .model import cuts, quads_after, random_log, text_of

SEEDS = [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 300))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_logs(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    if pick.random() < 0.7:
        _with_ids(tmp_path / "root", seed, pick)
    else:
        _in_batches(tmp_path / "root", seed, pick)


def _with_ids(root: Path, seed: int, pick: random.Random) -> None:
    """A growing log: the whole of it each time, or from some patch on; and again."""
    patches = random_log(seed, ids=True)
    layout = {"shards": pick.choice([1, 3, 8]), "shard_by": pick.choice(["subject", "graph"])}
    done = 0
    for stop in cuts(pick, patches):
        for _ in range(pick.choice([1, 1, 2])):
            begin = min(pick.choice([0, done, max(0, done - 1)]), stop - 1)
            given = text_of(patches[begin:stop])
            if pick.random() < 0.3 and stop < len(patches):
                # With the beginning of the next patch, which does not count.
                given += text_of([patches[stop][:2]]) + b"TX .\nA <urn:s> <urn:p> <urn:torn> .\n"
            apply(root, given, **layout)
            done = stop
            assert_same(root, quads_after(patches[:stop]))
    assert not apply(root, text_of(patches)).committed
    versions = ShardedStore(root).versions()
    assert [each.number for each in versions] == list(range(len(versions), 0, -1))


def _in_batches(root: Path, seed: int, pick: random.Random) -> None:
    """Patches without ids, in numbered batches, some of them twice or late."""
    patches = random_log(seed, ids=False)
    begin = 0
    for number, stop in enumerate(cuts(pick, patches)):
        batch = text_of(patches[begin:stop])
        first = apply(root, batch, application="a", batch=number)
        begin = stop
        for late in (batch, b"A <urn:s> <urn:p> <urn:late> .") if first.committed else (batch,):
            assert not apply(root, late, application="a", batch=number).committed
        if first.version:
            assert_same(root, quads_after(patches[:stop]))

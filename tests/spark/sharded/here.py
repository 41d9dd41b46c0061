"""The work of shards without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jelly_plugins.spark.sharded.shard import ShardResult, ShardWork, apply_shard


def run_here(works: Sequence[ShardWork]) -> Iterator[ShardResult]:
    """Do the work of shards in this process, one after the other."""
    return map(apply_shard, works)

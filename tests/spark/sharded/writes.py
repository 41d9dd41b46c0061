"""Writes numbered batches of a DataFrame into a sharded store, without end, as a program that tests
kill: ``python -m tests.spark.sharded.writes FOLDER FIRST``.

Each batch deletes a part of the one before it, so that a store's content says which batches were
written, in order.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Quad
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins.spark import session

from ..conftest import SETTINGS

#: Statements that a batch adds, and how many of them the next one deletes.
ADDED = 3000
DELETED = 1000


def rows(batch: int) -> list[tuple[str, int, int]]:
    """The operations of a batch: kind, the batch that has added the statement, its number."""
    deleted = [("D", batch - 1, number) for number in range(DELETED)] if batch else []
    return deleted + [("A", batch, number) for number in range(ADDED)]


def quads(last: int) -> set[Quad]:
    """The quads after the batches up to one."""
    found: set[Quad] = set()
    for batch in range(last + 1):
        for kind, made, number in rows(batch):
            quad = Quad(NamedNode(f"urn:{number}"), NamedNode("urn:batch"), Literal(str(made)))
            (found.add if kind == "A" else found.discard)(quad)
    return found


def frame(spark: SparkSession, batch: int) -> DataFrame:
    text = [(kind, f"<urn:{n}>", "<urn:batch>", f'"{made}"') for kind, made, n in rows(batch)]
    columns = "kind string, subject string, predicate string, object string"
    return spark.createDataFrame(text, columns).repartition(3)


def main() -> None:
    folder, first = sys.argv[1:]
    settings = {**SETTINGS, "spark.local.dir": f"{folder}/local"}
    settings["spark.sql.warehouse.dir"] = f"{folder}/warehouse"
    spark = session("local[2,4]", name="writes", config=settings)
    batch = int(first)
    while True:
        found = frame(spark, batch)
        print("begins", batch, flush=True)
        writing = found.write.format("jelly-store").mode("append")
        writing = writing.option("shards", 4).option("processes", 2)
        writing = writing.option("txnAppId", "writes").option("txnVersion", batch)
        writing.save(str(Path(folder) / "root"))
        print("done", batch, flush=True)
        batch += 1


if __name__ == "__main__":
    main()

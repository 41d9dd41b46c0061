"""What Spark's processes import: it starts one for each query, to plan how files are read."""

from __future__ import annotations

from pathlib import Path

from ..programs import run

PLANS = """
import sys
import pyspark.sql.worker.plan_data_source_read
from jelly_plugins.spark.datasource.sources import JellyDataSource, JellyPatchDataSource
for kind in (JellyDataSource, JellyPatchDataSource):
    source = kind({"path": sys.argv[1]})
    assert source.reader(source.schema()).partitions()
print("pandas" in sys.modules, "pyoxigraph" in sys.modules)
"""


def test_planning_does_not_import_what_it_does_not_need(tmp_path: Path) -> None:
    """``pyarrow.array`` imports pandas, which takes longer than everything else."""
    done = run(PLANS, tmp_path)
    assert done.stdout.split() == ["False", "False"], done.stderr

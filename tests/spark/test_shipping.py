"""What is sent to executors says what they lack. No session of Spark."""

from __future__ import annotations

from pathlib import Path

from pyspark.cloudpickle import dumps

from jelly_plugins.spark.datasource.sources import JellyDataSource

from ..programs import run

ARRIVES = """
import pickle, sys
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[2]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Lacking())
with open(sys.argv[1], "rb") as file:
    source, reader = pickle.load(file)
print(source.options, reader.partitions()[0].splits[0].path)
"""


def test_what_executors_lack_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.jelly").touch()
    source = JellyDataSource({"path": str(tmp_path)})
    # As Spark sends them: functions of __main__ by what they do.
    (tmp_path / "_sent").write_bytes(dumps((source, source.reader(source.schema()))))
    there = run(ARRIVES, tmp_path / "_sent", "nothing")
    assert there.stdout.split() == [*repr(source.options).split(), str(tmp_path / "x.jelly")]
    for module in ("jelly_plugins", "fsspec"):
        lacking = run(ARRIVES, tmp_path / "_sent", module)
        assert lacking.returncode == 1
        last = lacking.stderr.strip().splitlines()[-1]
        assert last.startswith("ImportError: Python ")
        assert f"(No module named '{module}')" in last
        assert "pip install 'jelly-plugins[spark]' there, or ship an environment" in last

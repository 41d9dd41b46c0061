"""Sharded stores on clusters: executors in processes of their own, and Spark Connect.

A process has one session of Spark; so these run programs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from jelly_plugins.spark.sessions import use_java
from tests.shared_data import ROOT

#: Seconds that no program takes, however slow the machine.
PATIENCE = 900

HOME = Path(pyspark.__file__).parent


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Spark's own scripts look for, and its executors."""
    use_java()
    monkeypatch.setenv("SPARK_HOME", str(HOME))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    path = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{path}" if path else str(ROOT))


def run(master: str, folder: Path, *shipped: object) -> str:
    """Run the program of a cluster; return where its executors have the package from."""
    arguments = ("-m", "tests.spark.shards.cluster", master, folder, *shipped)
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = done.stdout.splitlines()
    assert lines[-1] == "all of it holds"
    return lines[-2]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "connect"])
def test_clusters(tmp_path: Path, master: str) -> None:
    if master == "connect":
        pytest.importorskip("grpc_status", reason="Spark Connect needs grpcio-status")
        pytest.importorskip("google.rpc", reason="it needs googleapis-common-protos")
    run(master, tmp_path)


# Executors without the package

#: Runs Python without what is installed with the package.
PYTHON = """\
#!/bin/sh
if [ -n "$SPARK_EXECUTOR_DIRS" ]; then PYTHONPATH='{folder}':$PYTHONPATH; export PYTHONPATH; fi
exec '{python}' "$@"
"""

#: Takes away where the package is installed.
AWAY = "import sys\nsys.path[:] = [each for each in sys.path if each != {root!r}]\n"


@pytest.mark.spark
@pytest.mark.slow
def test_the_package_as_a_file_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--py-files`` bring it to executors that have what it needs, but not it."""
    shipped = tmp_path / "shipped" / "jelly_plugins.zip"
    shipped.parent.mkdir()
    with ZipFile(shipped, "w") as packed:
        for file in sorted((ROOT / "jelly_plugins").rglob("*.py")):
            packed.write(file, file.relative_to(ROOT))
    away = tmp_path / "away"
    away.mkdir()
    (away / "sitecustomize.py").write_text(AWAY.format(root=str(ROOT)))
    python = tmp_path / "python"
    python.write_text(PYTHON.format(folder=away, python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    monkeypatch.delenv("PYTHONPATH")
    found = run("local-cluster[1,1,1024]", tmp_path, shipped)
    assert found.endswith("jelly_plugins.zip/jelly_plugins/__init__.py False")

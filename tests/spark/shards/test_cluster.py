"""Sharded stores on clusters: executors in processes of their own, and Spark Connect.

A process has one session of Spark; so these run programs.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from jelly_plugins.spark.sessions import use_java
from tests.blocks import blocks
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


def program(*arguments: object, folder: Path = ROOT) -> str:
    """Run a program to its end; give what it prints."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def run(master: str, folder: Path, *shipped: object) -> str:
    """Run the program of a cluster; return where its executors have the package from."""
    lines = program("-m", "tests.spark.shards.cluster", master, folder, *shipped).splitlines()
    assert lines[-1] == "all of it holds"
    return lines[-2]


# A standalone cluster

DEPLOY = "org.apache.spark.deploy"


@contextmanager
def standalone(folder: Path, workers: int) -> Iterator[str]:
    """A standalone cluster: a master, and so many workers of one core.

    :return: the master's URL.
    """
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    start = f"'{HOME}/bin/spark-class' {DEPLOY}"
    host = "--host 127.0.0.1 --webui-port 0"
    commands = [f"exec {start}.master.Master {host} --port {port}"]
    for number in range(workers):
        settings = f"--cores 1 --memory 1g --work-dir '{folder}/work-{number}'"
        commands.append(f"exec {start}.worker.Worker {host} {settings} {master}")
    processes = []
    try:
        for number, command in enumerate(commands):
            with (folder / f"{number}.log").open("wb") as log:
                arguments = ["sh", "-c", command]
                processes.append(subprocess.Popen(arguments, stdout=log, stderr=log))
            _wait_for(port)
        yield master
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the master does not start")


@pytest.mark.spark
@pytest.mark.slow
def test_a_standalone_cluster_of_two_workers(tmp_path: Path) -> None:
    """All that the program does, and the examples of the page on Spark, unchanged but for the
    master."""
    page = (ROOT / "docs" / "start" / "spark.md").read_text(encoding="utf-8")
    examples = [text for language, text in blocks(page) if language == "python"]
    folder = tmp_path / "examples"
    folder.mkdir()
    with standalone(tmp_path, 2) as master:
        run(master, tmp_path)
        config = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
        code = "\n".join([*examples, "print(spark.sparkContext.master)"])
        assert "session()" in code
        code = code.replace("session()", f"session({master!r}, config={config})")
        assert program("-c", code, folder=folder).splitlines()[-1] == master
    for number in range(2):
        assert list((tmp_path / f"work-{number}").glob("app-*/*/stderr"))


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


@pytest.mark.spark
@pytest.mark.slow
def test_spark_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc_status", reason="Spark Connect needs grpcio-status")
    pytest.importorskip("google.rpc", reason="Spark Connect needs googleapis-common-protos")
    run("connect", tmp_path)

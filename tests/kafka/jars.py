"""The jars of Kafka: the broker's, and those of Spark's source.

``JELLY_PLUGINS_KAFKA`` is a folder that contains the folders of jars ``broker`` and ``spark``.
Without it, Maven downloads them once into pytest's cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyspark
import pytest

VARIABLE: Final = "JELLY_PLUGINS_KAFKA"

_KAFKA: Final = "4.1.1"
#: Versions of Spark to try for the source. That of Spark 4.2.0 works with PySpark 4.3.0.
_SPARK: Final = tuple(dict.fromkeys((pyspark.__version__, "4.2.0")))
#: Dependencies that Spark provides, some of them in other versions.
_PROVIDED: Final = ("org.apache.hadoop:*", "org.scala-lang*:*", "org.lz4:*", "at.yawk.lz4:*")
_PROVIDED_TOO: Final = ("org.xerial.snappy:*", "org.slf4j:*", "com.google.code.findbugs:*")

_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>jelly</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
    <exclusions>{exclusions}</exclusions>
  </dependency></dependencies>
</project>
"""
_EXCLUSION: Final = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"


def broker_jars(cache: Path) -> list[Path]:
    """Return the jars of a broker; skip the test if there are none."""
    return _jars("broker", cache, [("org.apache.kafka", "kafka_2.13", _KAFKA)])


def spark_jars(cache: Path) -> list[Path]:
    """Return the jars of Spark's source; skip the test if there are none."""
    names = [("org.apache.spark", "spark-sql-kafka-0-10_2.13", version) for version in _SPARK]
    return _jars("spark", cache, names, (*_PROVIDED, *_PROVIDED_TOO))


def _jars(
    kind: str, cache: Path, names: list[tuple[str, str, str]], without: Iterable[str] = ()
) -> list[Path]:
    given = os.environ.get(VARIABLE)
    if given is not None:
        found = sorted((Path(given) / kind).glob("*.jar"))
        if not found:
            pytest.skip(f"{VARIABLE}: {given} has no folder {kind} with jars")
        return found
    if shutil.which("mvn") is None:
        pytest.skip(f"there is no broker: set {VARIABLE} to a folder of jars, or install Maven")
    said = ""
    for group, name, version in names:
        folder = cache / f"{name}-{version}"
        if not folder.exists():
            said = _fetch(folder, group, name, version, without)
        if folder.exists():
            return sorted(folder.glob("*.jar"))
    pytest.skip(f"Maven cannot fetch {names[-1][1]} (set {VARIABLE} to a folder of jars): {said}")


def _fetch(folder: Path, group: str, name: str, version: str, without: Iterable[str]) -> str:
    """Download an artifact with its dependencies into a folder.

    :return: the error message, or stderr if there is none.
    """
    work = folder.with_name(f".{folder.name}-{os.getpid()}")
    work.mkdir(parents=True)
    exclusions = "".join(_EXCLUSION.format(*each.split(":")) for each in without)
    pom = _POM.format(group=group, name=name, version=version, exclusions=exclusions)
    (work / "pom.xml").write_text(pom)
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*command, "-DoutputDirectory=jars"], cwd=work, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        (work / "jars").rename(folder)
    shutil.rmtree(work)
    return next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr)

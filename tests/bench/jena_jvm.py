"""Compare our reader with Apache Jena's on the same files, warmed up and as whole processes.

``python -m tests.bench.jena_jvm CLASSPATH``, where CLASSPATH has Jena and ``tests/interop/Interop``
(see ``tests/interop/conftest.py``, which builds both):

    mvn -q -B -f tests/interop/pom.xml -Dfolder=/tmp/interop compile \
        dependency:build-classpath -Dmdep.outputFile=/tmp/interop/classpath
    python -m tests.bench.jena_jvm "/tmp/interop/classes:$(cat /tmp/interop/classpath)"
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jelly_plugins.jena import JenaFormat, JenaReader
from jelly_plugins.jena.chunks import RowsReader

from .data import FILES, usual
from .jena_jobs import rows_of

_ROUNDS = 15
_WARM = 5
_OUR_READER = """
import sys
from jelly_plugins.jena import JenaReader
for batch in JenaReader(sys.argv[1]):
    pass
"""


def main(classpath: str) -> None:
    print(f"{'data':<10}{'':<6}{'':<18}{'ours, terms':>14}{'ours, text':>14}{'Jena':>10}  seconds")
    with tempfile.TemporaryDirectory() as folder:
        for data in (each for each in usual() if each.name in FILES):
            for form in JenaFormat:
                path = Path(folder) / f"{data.name}.{form}"
                path.write_bytes(rows_of(data, form))
                output = _java(classpath, "time", path, _ROUNDS).split()
                jena = statistics.median(map(float, output[_WARM:]))
                terms = statistics.median(_seconds(_read_terms, path) for _ in range(_ROUNDS))
                text = statistics.median(_seconds(_read_text, path) for _ in range(_ROUNDS))
                _row(data.name, form, "warm", terms, text, jena)
                jena = min(_seconds(_java, classpath, "time", path, 1) for _ in range(3))
                terms = min(_seconds(_our_process, path) for _ in range(3))
                _row(data.name, form, "whole process", terms, None, jena)


def _row(
    name: str, form: JenaFormat, what: str, terms: float, text: float | None, jena: float
) -> None:
    shown = "" if text is None else f"{text:.3f}"
    print(f"{name:<10}{form:<6}{what:<18}{terms:>14.3f}{shown:>14}{jena:>10.3f}")


def _read_terms(path: Path) -> None:
    with JenaReader(path) as batches:
        for _ in batches:
            pass


def _read_text(path: Path) -> None:
    with RowsReader(path) as chunks:
        for _ in chunks:
            pass


def _our_process(path: Path) -> None:
    subprocess.run([sys.executable, "-c", _OUR_READER, str(path)], check=True)


def _java(classpath: str, *arguments: object) -> str:
    command = ["java", "-cp", classpath, "Interop", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _seconds(run: object, *arguments: object) -> float:
    start = time.perf_counter()
    run(*arguments)  # type: ignore[operator]
    return time.perf_counter() - start


if __name__ == "__main__":
    main(sys.argv[1])

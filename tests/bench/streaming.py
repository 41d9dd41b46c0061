"""Stream one file and print the peak memory of this process in bytes: ``python -m
tests.bench.streaming TASK FILE``. It imports only the modules that the task needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from ..memory import peak


def _consume(items: Iterable[Any]) -> None:
    for _ in items:
        pass


def _read(path: str) -> None:
    from jelly_plugins import read

    _consume(read(path))


def _read_rdflib(path: str) -> None:
    from jelly_plugins.rdflib import read_statements

    _consume(read_statements(path))


def _read_pyoxigraph(path: str) -> None:
    from jelly_plugins.oxigraph import read_quads

    _consume(read_quads(path))


def _pyjelly_read(path: str) -> None:
    from pyjelly.integrations.generic.parse import parse_jelly_flat

    with open(path, "rb") as file:
        _consume(parse_jelly_flat(file))


def _pyjelly_read_rdflib(path: str) -> None:
    from pyjelly.integrations.rdflib.parse import parse_jelly_flat

    with open(path, "rb") as file:
        _consume(parse_jelly_flat(file))


def _convert(source: str, target: str) -> Callable[[str], None]:
    def run(path: str) -> None:
        from jelly_plugins.cli import main

        sys.argv = ["jelly", "convert", path, "--from", source, "--to", target]
        sys.argv += ["-o", os.devnull, "--force"]
        try:
            main()
        except SystemExit as done:
            if done.code:
                raise

    return run


TASKS: Final[dict[str, Callable[[str], None]]] = {
    "read": _read,
    "read-rdflib": _read_rdflib,
    "read-pyoxigraph": _read_pyoxigraph,
    "pyjelly-read": _pyjelly_read,
    "pyjelly-read-rdflib": _pyjelly_read_rdflib,
    "jelly-to-ntriples": _convert("jelly", "ntriples"),
    "ntriples-to-jelly": _convert("ntriples", "jelly"),
}


if __name__ == "__main__":
    TASKS[sys.argv[1]](sys.argv[2])
    print(peak())

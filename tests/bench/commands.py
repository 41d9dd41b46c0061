"""Measure `jelly convert` beside `oxigraph convert` and `serdi`, where they are installed.

    python -m tests.bench.commands FILE … [--rounds N]

Each conversion is a process, ours and the others in turn; the figure is the least time of the
processor, with the start of the process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from pyoxigraph import RdfFormat, parse, serialize

from jelly_plugins import convert

#: By command, the names of the formats that it knows.
_FORMATS: Final = {
    "oxigraph": {"nt": "nt", "ttl": "ttl"},
    "serdi": {"nt": "ntriples", "ttl": "turtle"},
}
_PAIRS: Final = (("ttl", "nt"), ("nt", "ttl"), ("nt", "jelly"), ("ttl", "jelly"), ("jelly", "nt"))


def _commands(source: Path, target: Path) -> dict[str, list[str]]:
    """What converts a file, by name; files are named by their formats."""
    here, there = source.suffix[1:], target.suffix[1:]
    ours = str(Path(sys.executable).with_name("jelly"))
    found = {"jelly": [ours, "convert", str(source), "-o", str(target), "--force"]}
    for name, formats in _FORMATS.items():
        if shutil.which(name) is None or not {here, there} <= formats.keys():
            continue
        if name == "serdi":
            found[name] = [name, "-i", formats[here], "-o", formats[there], str(source)]
        else:
            paths = ["--from-file", str(source), "--to-file", str(target)]
            found[name] = [name, "convert", *paths]
    return found


def _seconds(command: list[str], target: Path) -> float:
    """The time of the processor that a command takes."""
    with target.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime


def _measure(path: Path, folder: Path, rounds: int) -> None:
    files = {form: folder / f"data.{form}" for form in ("nt", "ttl", "jelly")}
    convert(path, files["nt"])
    files["ttl"].write_bytes(serialize(parse(path=files["nt"]), format=RdfFormat.TURTLE) or b"")
    convert(files["nt"], files["jelly"])
    for here, there in _PAIRS:
        target = folder / f"out.{there}"
        commands = _commands(files[here], target)
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(rounds):
            for name, command in commands.items():
                best[name] = min(best[name], _seconds(command, target))
        figures = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
        print(f"{path.name}, {here} to {there}: {figures}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="Jelly or N-Triples")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    for path in asked.files:
        with tempfile.TemporaryDirectory() as folder:
            _measure(path, Path(folder), asked.rounds)


if __name__ == "__main__":
    main()

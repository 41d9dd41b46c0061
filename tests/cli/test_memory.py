"""Memory of ``jelly convert`` does not grow with the stream. Sizes, never times."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from .command import jelly

#: Runs the command given and prints the peak of its memory, in bytes.
_MEASURE = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-c", "from jelly_plugins.cli import main; main()",
                       *sys.argv[1:]])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak if sys.platform == "darwin" else peak * 1024)
sys.exit(done.returncode)
"""

MEGABYTE = 1_000_000


def peak(*arguments: str | Path) -> int:
    """Peak memory of a process that runs ``jelly``, in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def write_triples(path: Path, number: int) -> None:
    """Triples with ever new subjects, literals and blank nodes."""
    with path.open("w") as file:
        for n in range(number // 5):
            item = f"<http://example.org/{n % 997}/item/{n}>"
            file.write(
                f"{item} <http://example.org/type> <http://example.org/class/{n % 53}> .\n"
                f'{item} <http://example.org/ns#label> "item number {n}"@en .\n'
                f"{item} <http://example.org/ns#value> "
                f'"{n * 7}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
                f"{item} <http://example.org/ns#part> _:b{n} .\n"
                f"_:b{n} <http://example.org/ns#next> <http://example.org/item/{n + 1}> .\n"
            )


def peaks(folder: Path, form: str, number: int) -> tuple[int, int]:
    """Peaks of converting ``number`` triples to Jelly, and that to text."""
    text, data, back = folder / f"x.{form}", folder / "x.jelly", folder / f"back.{form}"
    write_triples(text, number)
    found = (
        peak("convert", text, "-o", data, "--force"),
        peak("convert", data, "-o", back, "--force"),
    )
    for path in (text, data, back):
        path.unlink()
    return found


def assert_flat(few: tuple[int, int], many: tuple[int, int]) -> None:
    for small, large in zip(few, many, strict=True):
        assert large < 150 * MEGABYTE
        assert abs(large - small) < 0.2 * small


def test_twice_the_triples_take_no_more_memory(tmp_path: Path) -> None:
    # From some 100,000 on every cache of the codec is as full as it gets.
    assert_flat(peaks(tmp_path, "nt", 120_000), peaks(tmp_path, "nt", 240_000))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nt", "ttl"])
def test_a_million_and_four_million_triples(form: str, tmp_path: Path) -> None:
    assert_flat(peaks(tmp_path, form, 1_000_000), peaks(tmp_path, form, 4_000_000))


def test_a_compressed_bomb_of_text_is_bounded(tmp_path: Path) -> None:
    """One line without an end, a thousand times its compressed size."""
    path = tmp_path / "x.nt.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(b"x" * MEGABYTE)
    assert jelly("convert", path, "-o", tmp_path / "x.jelly").code == 1

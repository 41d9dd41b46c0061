"""Memory does not grow with a log. Sizes, never times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jelly_plugins import native

from .logs import FORMATS

#: Writes a log of so many messages, made one by one, reads it, converts it to Jelly and back, and
#: prints the peak of memory in bytes.
_RUN = """
import sys
from jelly_plugins import Iri, Literal, Triple
from jelly_plugins.messages import convert_messages, read_messages, write_messages
from tests.memory import peak

folder, form, number = sys.argv[1], sys.argv[2], int(sys.argv[3])

def messages():
    for n in range(number):
        subject = Iri(f"http://example.org/{n}")
        yield [
            Triple(subject, Iri("http://example.org/p"), Literal(f"value {n} {m}"))
            for m in range(n % 3 * 2)
        ]

log, jelly, back = (f"{folder}/{name}" for name in (f"x.{form}", "x.jelly", f"y.{form}"))
assert write_messages(messages(), log) == number
assert sum(1 for _ in read_messages(log)) == number
assert convert_messages(log, jelly).messages == number
assert sum(len(message) for message in read_messages(jelly)) == number * 2
assert convert_messages(jelly, back).messages == number
print(peak())
"""


def peak_of(folder: Path, form: str, number: int) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(folder), form, str(number)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not native, reason="the Python codec's caches are not full after so few")
@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"jelly"}))
def test_ten_times_the_messages_take_no_more_memory(form: str, tmp_path: Path) -> None:
    number = 600 if form == "yamlld" else 3000
    few = peak_of(tmp_path, form, number)
    many = peak_of(tmp_path, form, number * 10)
    assert many < few + (12 << 20)

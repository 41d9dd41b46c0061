"""Memory does not grow with a log. The tests measure sizes, never times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jelly_plugins import native

from .logs import FORMATS

#: Writes a log of a number of messages, made one by one, reads it, converts it to Jelly and back,
#: and prints the peak memory in bytes; repeats this with ten times as many messages.
_RUN = """
import sys
from jelly_plugins import Iri, Literal, Triple
from jelly_plugins.messages import convert_messages, read_messages, write_messages
from tests.memory import peak

folder, form, few = sys.argv[1], sys.argv[2], int(sys.argv[3])

def messages(number):
    for n in range(number):
        subject = Iri(f"http://example.org/{n}")
        yield [
            Triple(subject, Iri("http://example.org/p"), Literal(f"value {n} {m}"))
            for m in range(n % 3 * 2)
        ]

log, jelly, back = (f"{folder}/{name}" for name in (f"x.{form}", "x.jelly", f"y.{form}"))
for number in (few, few * 10):
    assert write_messages(messages(number), log) == number
    assert sum(1 for _ in read_messages(log)) == number
    assert convert_messages(log, jelly).messages == number
    assert sum(len(message) for message in read_messages(jelly)) == number * 2
    assert convert_messages(jelly, back).messages == number
    print(peak())
"""


@pytest.mark.skipif(not native, reason="the Python codec's caches are not full after so few")
@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"jelly"}))
def test_ten_times_the_messages_take_no_more_memory(form: str, tmp_path: Path) -> None:
    number = 300 if form == "yamlld" else 1500
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path), form, str(number)],
        capture_output=True,
        text=True,
        check=True,
    )
    few, many = map(int, done.stdout.split())
    assert many < few + (12 << 20)

"""Frames and documents that declare more than they hold, or repeat one thing: each is read or
rejected in little memory.
"""

from __future__ import annotations

import pytest

from ..programs import run

#: The program's argument is what reads. The peak never falls, so all cases share one process.
_FRAMES = r"""
import sys
from jelly_plugins import JellyError, arrow
from jelly_plugins.sparql import read_results
from tests.memory import peak

def number(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)

def field(at, body):
    return number(at << 3 | 2) + number(len(body)) + body

def repeated(each):
    return each * (4_000_000 // len(each))

read = {"terms": lambda data: list(read_results(data)),
        "columns": lambda data: arrow.read_results(data).read_all()}[sys.argv[1]]
header = field(2, field(1, b"v"))
before = peak()
for name, body in {
    "names of a column": lambda: field(7, field(1, repeated(b"\x01"))),
    "names of a column, not packed": lambda: field(7, repeated(b"\x0a\x01\x01")),
    "prefixes of a column": lambda: field(7, field(3, repeated(b"\x01"))),
    "blank nodes": lambda: field(8, repeated(b"\x0a\x00")),
    "literals": lambda: field(9, repeated(b"\x0a\x00")),
    "lexical forms": lambda: field(9, repeated(b"\x1a\x00")),
    "terms": lambda: field(10, repeated(b"\x0a\x02\x1a\x00")),
    "layouts": lambda: field(7, field(2, repeated(b"\x10"))),
    "layouts without effect": lambda: field(7, field(2, repeated(b"\x20"))),
    "entries": lambda: field(4, repeated(b"\x12\x00")) + field(7, b""),
    "datatypes": lambda: field(6, repeated(b"\x12\x00")) + field(7, b""),
    "packed entries": lambda: repeated(b"\x22\x02\x08\x01") + field(7, b""),
    "metadata": lambda: repeated(b"\x7a\x00") + field(7, b""),
    "variables": lambda: repeated(b"\x12\x00"),
    "columns": lambda: repeated(b"\x3a\x00"),
    "unknown fields": lambda: repeated(b"\xa2\x06\x00") + field(7, b""),
}.items():
    frame = field(1, bytes.fromhex("4880017801")) + header + b"\x18\x01" + body()
    data = number(len(frame)) + frame
    try:
        read(data)
        assert name == "unknown fields", name
    except JellyError as error:
        assert error.frame == 0, error
    del frame, data
    assert peak() - before < 250 << 20, (name, (peak() - before) >> 20)
"""


@pytest.mark.parametrize("reader", ["terms", "columns"])
def test_repeated_parts_of_a_frame(reader: str) -> None:
    pytest.importorskip("pyarrow")
    done = run(_FRAMES, reader)
    assert done.returncode == 0, done.stderr


_WIDE = """
import sys
from jelly_plugins.sparql import read_results
from tests.memory import peak
form, width, rows = sys.argv[1], 20_000, 500
names = [f"v{n}" for n in range(width)]
if form == "srx":
    variables = "".join(f"<variable name='{name}'/>" for name in names)
    text = "<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head>"
    text += f"{variables}</head><results>" + "<result/>" * rows + "</results></sparql>"
else:
    variables = ",".join(f'"{name}"' for name in names)
    text = f'{{"head":{{"vars":[{variables}]}},"results":{{"bindings":['
    text += ",".join(["{}"] * rows) + "]}}"
before = peak()
assert sum(1 for _ in read_results(text.encode(), format=form)) == rows
assert sum(frame.rows for frame in read_results(text.encode(), format=form).frames()) == rows
print((peak() - before) >> 20)
"""


@pytest.mark.parametrize("form", ["srx", "srj"])
def test_empty_solutions_of_many_variables(form: str) -> None:
    done = run(_WIDE, form)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100


_JSON = """
import sys
from jelly_plugins import JellyError
from jelly_plugins.sparql import read_results
from tests.memory import peak
what, size = sys.argv[1], 20_000_000
head, foot = b'{"head":{"vars":["a"]},', b'"results":{"bindings":[]}}'
text = {
    "nested": lambda: head + b'"x":' + b"[" * size,
    "lists": lambda: head + b'"x":[' + b"[]," * (size // 3) + b"[]]," + foot,
    "keys": lambda: head + b'"x":{' + b'"k":1,' * (size // 6) + b'"k":1},' + foot,
    "members of a term": lambda: head + b'"results":{"bindings":[{"a":{'
        + b'"x":1,' * (size // 6) + b'"type":"uri","value":"urn:a"}}]}}',
    "a solution": lambda: head + b'"results":{"bindings":[{"a":{"x":[' + b"[]," * (size // 3),
    "a number": lambda: head + b'"x":' + b"1" * size + b"," + foot,
    "a string": lambda: head + b'"x":"' + b"1" * size + b'",' + foot,
    "variables": lambda: b'{"head":{"vars":[' + b'"a",' * (size // 4),
    "early solutions": lambda: b'{"results":{"bindings":[' + b"{}," * (size // 3),
}[what]()
before = peak()
try:
    print(sum(1 for _ in read_results(text, format="srj")), end=" ")
except JellyError as error:
    print(type(error).__name__, end=" ")
print((peak() - before) >> 20)
"""


@pytest.mark.parametrize(
    ("what", "expected", "most"),
    [
        ("nested", "LimitError", 100),
        ("lists", "LimitError", 100),
        ("keys", "LimitError", 100),
        ("members of a term", "LimitError", 100),
        ("a solution", "LimitError", 100),
        ("a number", "LimitError", 150),
        ("a string", "LimitError", 150),
        ("variables", "LimitError", 100),
        # As many as string_bytes allows.
        ("early solutions", "LimitError", 150),
    ],
)
def test_repeated_parts_of_json(what: str, expected: str, most: int) -> None:
    done = run(_JSON, what)
    assert done.returncode == 0, done.stderr
    found, size = done.stdout.split()
    assert (found, int(size) < most) == (expected, True), done.stdout

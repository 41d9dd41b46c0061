"""Frames and documents that declare more than they hold, or repeat one thing: each is read or
rejected in little memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from jelly_plugins import JellyError, LimitError, arrow
from jelly_plugins.codec import delimit
from jelly_plugins.codec.common.wire import bytes_field as field
from jelly_plugins.sparql import read_results

from ..memory import peak
from ..programs import run

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak of memory cannot be reset here"
)

SIZE: Final = 17_000_000


def frame(body: bytes) -> bytes:
    """The first frame of a stream, with a variable and a row."""
    opening = field(1, bytes.fromhex("4880017801")) + field(2, field(1, b"v"))
    return delimit(opening + b"\x18\x01" + body)


def repeated(part: bytes) -> bytes:
    return part * (4_000_000 // len(part))


def json_of(opening: bytes, part: bytes, closing: bytes = b"") -> bytes:
    return b'{"head":{"vars":["a"]},' + opening + part * (SIZE // len(part)) + closing


def wide(form: str) -> bytes:
    """Empty solutions of many variables."""
    names = [f"v{n}" for n in range(20_000)]
    if form == "srj":
        return json.dumps({"head": {"vars": names}, "results": {"bindings": [{}] * 500}}).encode()
    variables = "".join(f"<variable name='{name}'/>" for name in names)
    opening = f"<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head>{variables}</head>"
    return f"{opening}<results>{'<result/>' * 500}</results></sparql>".encode()


_FOOT = b'"results":{"bindings":[]}}'
FRAMES: Final[dict[str, Callable[[], bytes]]] = {
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
}
DOCUMENTS: Final[dict[str, Callable[[], bytes]]] = {
    "nested": lambda: json_of(b'"x":', b"["),
    "lists": lambda: json_of(b'"x":[', b"[],", b"[]]," + _FOOT),
    "keys": lambda: json_of(b'"x":{', b'"k":1,', b'"k":1},' + _FOOT),
    "members of a term": lambda: json_of(
        b'"results":{"bindings":[{"a":{', b'"x":1,', b'"type":"uri","value":"urn:a"}}]}}'
    ),
    "a solution": lambda: json_of(b'"results":{"bindings":[{"a":{"x":[', b"[],"),
    "a number": lambda: json_of(b'"x":', b"1", b"," + _FOOT),
    "a string": lambda: json_of(b'"x":"', b"1", b'",' + _FOOT),
    "variables of a head": lambda: b'{"head":{"vars":[' + b'"a",' * (SIZE // 4),
    "early solutions": lambda: b'{"results":{"bindings":[' + b"{}," * (SIZE // 3),
}


def terms(data: bytes) -> int:
    return sum(1 for _ in read_results(data))


READERS: Final[dict[str, tuple[dict[str, Callable[[], bytes]], Callable[[bytes], Any], int]]] = {
    "terms": (FRAMES, lambda data: terms(frame(data)), 250),
    "columns": (FRAMES, lambda data: arrow.read_results(frame(data)).read_all(), 250),
    "documents": (DOCUMENTS, terms, 100),
    "wide rows": ({"srj": lambda: wide("srj"), "srx": lambda: wide("srx")}, terms, 100),
    "wide frames": (
        {"srj": lambda: wide("srj"), "srx": lambda: wide("srx")},
        lambda data: sum(frame.rows for frame in read_results(data).frames()),
        100,
    ),
}


def main(reader: str) -> None:
    """Check each case of a reader."""
    cases, read, most = READERS[reader]
    for name, make in cases.items():
        data = make()
        Path("/proc/self/clear_refs").write_text("5")
        before = peak()
        if name == "unknown fields" or reader.startswith("wide"):
            read(data)
        else:
            with pytest.raises(LimitError if cases is DOCUMENTS else JellyError) as caught:
                read(data)
            assert caught.value.frame == (0 if cases is FRAMES else None), (name, caught.value)
        # A value is as long as string_bytes allows.
        longer = 50 if name in ("a number", "a string", "early solutions") else 0
        assert peak() - before < (most + longer) << 20, (name, (peak() - before) >> 20)


@pytest.mark.parametrize("reader", READERS)
def test_memory_is_bounded(reader: str) -> None:
    done = run("from tests.sparql.test_memory import main; import sys; main(sys.argv[1])", reader)
    assert done.returncode == 0, done.stderr

"""The compiled module cuts and counts like its reference."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jelly_plugins import DEFAULT_GRAPH, Quad
from jelly_plugins.codec import Encoder, LogicalType, StreamOptions, delimit
from jelly_plugins.messages import boundaries

from .logs import LOGS, written

native = pytest.importorskip("jelly_plugins.messages._native")

_PARTS = (
    b"MESSAGE",
    b" MESSAGE # x",
    b"\tMESSAGE\t",
    b"MESSAGES",
    b"MESSAG",
    b"M",
    b'VERSION "1.2-messages"',
    b"@message .",
    b"# MESSAGE",
    b"",
    b"  ",
    b"<urn:s> <urn:p> <urn:o> .",
    b'_:s <urn:p> "MESSAGE" .',
    b"\xc3\xa9\xff",
)


def _lines(module: Any, text: bytes, announced: bool) -> Any:
    data = bytearray(text)
    counts: list[int] = []
    firsts: list[int] = []
    return module.count_lines(data, 0, 7, 2, announced, counts, firsts), counts, firsts, data


@pytest.mark.parametrize("seed", range(300))
def test_both_modules_count_lines(seed: int) -> None:
    chosen = random.Random(seed)
    weights = [8, 8, 8, 1, 1, 1, 1, 1, 8, 8, 8, 20, 20, 3]
    text = b"".join(
        each + chosen.choice((b"\n", b"\r\n", b"\r", b"\n\n"))
        for each in chosen.choices(_PARTS, weights, k=30)
    )
    if seed % 3 == 0:
        text = text[: chosen.randrange(len(text))]
    for announced in (True, False):
        found = _lines(boundaries, text, announced)
        assert found == _lines(native, text, announced)
        assert len(found[3]) == len(text)


@pytest.mark.parametrize("seed", range(40))
def test_both_modules_cut_and_join_rows(seed: int) -> None:
    chosen = random.Random(seed)
    messages = [list(chosen.choice(LOGS[4])) for _ in range(20)]
    encoder = Encoder(StreamOptions(logical_type=LogicalType.GRAPHS))
    opening = encoder.flush()
    for message in messages:
        encoder.add(message)
    rows = encoder.flush()
    counts = list(map(len, messages))
    ends = counts[: chosen.randrange(1, 21)]
    limits = chosen.choice([(1 << 30, 1 << 30), (500, 1 << 30), (1 << 30, 12)])
    cut = boundaries.cut_rows(rows, opening, 0, 1, ends, *limits)
    assert cut == native.cut_rows(rows, opening, 0, 1, ends, *limits)
    frames = cut[0] + delimit(opening) + cut[0]
    for data in (
        cut[0],
        frames,
        frames[: chosen.randrange(len(frames) + 1)],
        bytes(5),
        b"\xff" * 20,
    ):
        for pos in (0, len(cut[0])):
            for bounds in ((1 << 20, 1 << 20), (300, 1 << 20), (1 << 20, 20)):
                assert _joined(boundaries, data, pos, *bounds) == _joined(
                    native, data, pos, *bounds
                )


def _joined(module: Any, data: bytes, pos: int, *bounds: int) -> Any:
    counts: list[int] = []
    rows: list[int] = []
    return module.join_frames(data, min(pos, len(data)), counts, rows, *bounds), counts, rows


@pytest.mark.parametrize("seed", range(200))
def test_both_modules_reject_broken_frames(seed: int) -> None:
    chosen = random.Random(seed)
    data = bytearray(written(LOGS[4], "jelly"))
    for _ in range(chosen.randrange(1, 6)):
        data[chosen.randrange(len(data))] = chosen.randrange(256)
    starts = [pos for pos in range(len(data)) if pos % 7 == seed % 7]
    for pos in starts:
        assert _joined(boundaries, bytes(data), pos, 1 << 20, 1 << 20) == _joined(
            native, bytes(data), pos, 1 << 20, 1 << 20
        )


def test_both_modules_insert_delimiters() -> None:
    text = b"a\nb\nc\nd\n"
    for counts in ([4], [1, 3], [0, 0, 2, 0, 2, 0], [1, 1, 1, 1]):
        woven = boundaries.weave(text, counts)
        assert woven == native.weave(text, counts)
        assert woven.replace(b"MESSAGE\n", b"") == text
    assert native.weave(b"", []) == boundaries.weave(b"", []) == b""


def test_both_modules_put_triples_into_the_default_graph() -> None:
    triples = [triple for message in LOGS[4] for triple in message]
    quads = native.in_default_graph(triples)
    assert quads == boundaries.in_default_graph(triples)
    assert {type(quad) for quad in quads} == {Quad}
    assert quads[0].subject is triples[0].subject
    assert quads[0].graph is DEFAULT_GRAPH
    for wrong in ([triples[0][:2]], [[1, 2, 3]], [None]):
        with pytest.raises(TypeError):
            native.in_default_graph(wrong)
    assert native.in_default_graph([]) == []

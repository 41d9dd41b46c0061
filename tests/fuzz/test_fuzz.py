"""Thousands of damaged streams: each gives a result or a JellyError, in bounded time.

Streams that can still be read must give the same result with Protocol Buffers and a simpler reader.

``JELLY_FUZZ_CASES`` is the number of cases (5,000 by default; a million take some minutes),
``JELLY_FUZZ_SEED`` the number of the first. A failure reports the case; use its number as the seed
with one case to repeat it.
"""

from __future__ import annotations

import faulthandler
import os
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jelly_plugins import JellyError, Limits
from jelly_plugins.codec import FrameSplitter, GenericFactory
from jelly_plugins.codec.common import wire as wire_format

from ..codec import wire_builder as w
from ..codec.conftest import Kernel, kernel
from ..codec.oracle import Oracle
from .leaning import leaning_stream
from .streams import damaged, made_stream_of, real_streams

__all__ = ["kernel"]

CASES = int(os.environ.get("JELLY_FUZZ_CASES", "5000"))
SEED = int(os.environ.get("JELLY_FUZZ_SEED", "0"))
#: Longer streams are truncated, so that the time suffices for many cases.
LONGEST = 4000
#: A case that takes more seconds ends the run with a traceback.
PATIENCE = 60
LIMITS = Limits(frame_rows=20_000, frame_repeats=20_000, frame_expansion=1 << 20)


def stream(random: Random) -> list[bytes]:
    """Choose a stream to damage: one of any form, a made one, or if available a real one."""
    real = real_streams()
    makers: list[Callable[[], list[bytes]]] = [
        lambda: leaning_stream(random),
        lambda: made_stream_of(random.randrange(500)),
    ]
    return random.choice([*makers, lambda: random.choice(real)] if real else makers)()


def attempt(kernel: Kernel, data: bytes) -> str:
    """Read a stream to its end or first error; return which of the two it was."""
    splitter = FrameSplitter(limits=LIMITS)
    decoder = kernel.Decoder(GenericFactory(), limits=LIMITS)
    read = []
    try:
        for chunk in (splitter.feed(data), splitter.finish()):
            for frame in chunk:
                read.append((frame, decoder.decode(frame).statements))
        decoder.finish()
    except JellyError as error:
        return type(error).__name__
    oracle = Oracle()
    for frame, statements in read:
        assert oracle.decode(frame) == statements
    return "read"


def test_broken_streams(kernel: Kernel) -> None:
    outcomes: Counter[str] = Counter()
    for case in range(SEED, SEED + CASES):
        random = Random(case)
        data = w.stream(*stream(random))[:LONGEST]
        if random.random() < 0.1:
            other = w.stream(*stream(random))[:LONGEST]
            data = (
                data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]
            )
        data = damaged(random, data)
        if case % 1000 == 0:
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            outcomes[attempt(kernel, data)] += 1
        except Exception as error:
            pytest.fail(f"JELLY_FUZZ_SEED={case} JELLY_FUZZ_CASES=1: {error!r}\n{data.hex()}")
    faulthandler.cancel_dump_traceback_later()
    if CASES >= 5000:
        # The mutations are effective: some streams remain valid, and each kind of error occurs.
        kinds = "Wire Truncated Options Order LookupTable Statement Limit"
        assert set(outcomes) >= {"read", *(f"{kind}Error" for kind in kinds.split())}


many = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@many
@given(data=st.data())
def test_random_rows(kernel: Kernel, data: st.DataObject) -> None:
    """Rows with correct lengths and random contents."""
    numbers = st.integers(0, 2**64 - 1) | st.integers(0, 20)
    leaf = st.builds(
        lambda number, value: wire_format.varint(number << 3) + wire_format.varint(value),
        st.integers(1, 20),
        numbers,
    ) | st.builds(
        lambda number, payload: wire_format.bytes_field(number, payload),
        st.integers(1, 20),
        st.binary(max_size=6) | st.just(b"urn:s"),
    )
    fields = st.recursive(
        leaf,
        lambda inner: st.builds(
            lambda number, parts: wire_format.bytes_field(number, b"".join(parts)),
            st.integers(1, 16),
            st.lists(inner, max_size=3),
        ),
        max_leaves=8,
    )
    rows = st.builds(
        lambda number, parts: w.row(number, b"".join(parts)),
        st.sampled_from([2, 3, 4, 5, 6, 9, 10, 11]),
        st.lists(fields, max_size=4),
    )
    physical = data.draw(st.sampled_from([w.TRIPLES, w.QUADS, w.GRAPHS]))
    head = [w.options(physical, generalized=True, star=True, version=2), *w.SPO, w.datatype("d")]
    frame = w.frame(*head, *data.draw(st.lists(rows, max_size=5)))
    attempt(kernel, w.stream(frame))

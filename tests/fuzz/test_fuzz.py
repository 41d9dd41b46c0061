"""Thousands of damaged streams: each gives a result or a JellyError.

Streams that can still be read must give the same result with Protocol Buffers and a simpler reader.

``JELLY_FUZZ_CASES`` is the number of cases (5,000 by default; a million take some minutes),
``JELLY_FUZZ_SEED`` the number of the first. A failure reports the case; use its number as the seed
with one case to repeat it.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest

from jelly_plugins import JellyError, Limits
from jelly_plugins.codec import FrameSplitter, GenericFactory

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
LIMITS = Limits(frame_rows=20_000, frame_repeats=20_000, frame_expansion=1 << 20)


def stream(random: Random) -> list[bytes]:
    """Choose a stream to damage: one of any form, a made one, or a real one."""
    kind = random.randrange(3)
    if kind == 0:
        return leaning_stream(random)
    return made_stream_of(random.randrange(500)) if kind == 1 else random.choice(real_streams())


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
        try:
            outcomes[attempt(kernel, data)] += 1
        except Exception as error:
            pytest.fail(f"JELLY_FUZZ_SEED={case} JELLY_FUZZ_CASES=1: {error!r}\n{data.hex()}")
    if CASES >= 5000:
        # The mutations are effective: some streams remain valid, and each kind of error occurs.
        kinds = "Wire Truncated Options Order LookupTable Statement Limit"
        assert set(outcomes) >= {"read", *(f"{kind}Error" for kind in kinds.split())}

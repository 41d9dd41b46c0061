"""The compiled kernels keep nothing of rejected input: after thousands of failing inputs, memory
use and reference counts are unchanged.
"""

from __future__ import annotations

import gc
import logging
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from jelly_plugins.codec import DEFAULT_LIMITS, GenericFactory, Limits, StreamOptions, Triple
from jelly_plugins.errors import JellyError

from ..fuzz.comparison import Case, Outcome, native
from ..fuzz.differential import SORTS
from ..fuzz.lending import Rejection

#: Number of inputs of each sort; only rejected ones count.
INPUTS = 48
#: How often each input is rejected between two measurements, and the maximum number of
#: measurements.
ROUNDS = 2
MEASUREMENTS = 20
#: Size of the smallest object in bytes.
SMALL = 32
#: Sorts of input, one for each class of the kernels.
OF_EACH_CLASS = (
    *("broken.terms", "leaning.text", "leaning.columns"),
    *("broken.operations", "leaning.patch_columns", "jena.text"),
    *("written.statements", "written.operations", "written.text", "written.lines"),
    "written.columns",
)


def cases_of(sort: str, inputs: int = INPUTS) -> Iterator[Case]:
    return (SORTS[sort][0](Random(f"leaks/{seed}")) for seed in range(inputs))


def is_rejected(outcome: Outcome) -> bool:
    """Whether an input was rejected; an outcome that continues after errors has them among its
    events.
    """
    events, error = outcome
    return error is not None or any(isinstance(event, Rejection) for event in events)


def run(cases: Iterable[Case]) -> None:
    for case in cases:
        case.run()


def grows(cases: list[Case]) -> bool:
    """Whether each rejection leaks at least a small object, or all of them leak objects that the
    garbage collector tracks.
    """
    objects = len(gc.get_objects())
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(ROUNDS):
        run(cases)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    return after - before > SMALL * len(cases) or len(gc.get_objects()) - objects >= 20


@pytest.mark.parametrize("sort", OF_EACH_CLASS)
def test_rejected_input_is_not_kept(sort: str, caplog: pytest.LogCaptureFixture) -> None:
    native()
    # pytest keeps what rdflib logs of literals.
    caplog.set_level(logging.ERROR, "rdflib.term")
    cases = [case for case in cases_of(sort) if is_rejected(case.run())]
    assert len(cases) > INPUTS // 8
    tracemalloc.start()
    try:
        # The trace includes the kernel's own allocations.
        run(cases)
        gc.collect()
        # The kernel caches some hundred freed descriptions of terms, some of which were made before
        # tracing started. A leak grows with each measurement.
        assert not all(grows(cases) for _ in range(MEASUREMENTS))
    finally:
        tracemalloc.stop()


def test_references_to_arguments_are_released() -> None:
    kernel = native()
    limits = Limits(nesting=3)
    factory = GenericFactory()
    options = StreamOptions()
    stream = [b"\x0a\x05" * 40, b"\xff" * 40]
    row = Triple(None, None, None)  # type: ignore[arg-type]
    given: list[Any] = [limits, factory, options, stream[0], row, DEFAULT_LIMITS]

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(each) for each in given]

    before = counts()
    for _ in range(1000):
        decoder = kernel.Decoder(factory, limits=limits)
        for frame in stream:
            with pytest.raises(JellyError):
                decoder.decode(frame)
        with pytest.raises(JellyError):
            kernel.Encoder(options, limits=limits).add([row])
    del decoder
    assert counts() == before

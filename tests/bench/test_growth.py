"""Doubling a dimension at most doubles time and memory.

The short form counts Python's instructions and allocations, which do not depend on the machine; of
C code it sees only the memory. The slow form measures CPU time with a wide margin, and repeats a
measurement that exceeds it.
"""

from __future__ import annotations

import gc
import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import pytest

from .growth_cases import GROUPS, MOST, START, STARTS

#: rdflib warns inside its own serializers.
pytestmark = pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")

#: First size of the short form.
_FIRST: Final = 32
#: First sizes of dimensions whose smaller sizes are a single batch.
_FIRSTS: Final = {"empty messages": 128}
#: Instructions and bytes that a doubling may always add, for a constant amount of work.
_INSTRUCTIONS: Final = 4_000
_BYTES: Final = 1 << 18
#: Maximum growth at the second doubling as a multiple of that at the first: 2 if linear, 4 if
#: quadratic.
_MOST: Final = 3.0
#: Seconds below which the slow form does not trust a figure, and after which it does not double;
#: the maximum exponent of two doublings: on a busy machine figures vary by some tenths.
_LEAST: Final = 0.02
_ENOUGH: Final = 0.2
_EXPONENT: Final = 1.6
_ATTEMPTS: Final = 3

#: Entries of the short form: those with the most work in Python.
_SHORT: Final = {
    "statements": (
        "read",
        "arrow.write",
        "Dataset().parse",
        "Dataset().serialize rt",
        "oxigraph.load terms",
    ),
    "patches": ("compact", "write_patches jellyp", "oxigraph.replay", "rdflib.replay Dataset"),
    "messages": (
        "read_messages trig",
        "read_messages yamlld",
        "write_messages ndjsonld",
        "convert_messages nt jelly",
    ),
    "results": ("read_solutions", "write_results srt"),
}

#: Lines that are worse than linear, and why they cannot be better. By how much depends on rdflib's
#: version.
_BIND: Final = "rdflib's bind looks at all namespaces (insert_trie)"
_STEEP: Final = {
    ("namespaces", "Dataset().parse"): _BIND,
    ("namespaces", "Graph().parse"): _BIND,
    ("namespaces of patches", "rdflib.replay Dataset"): _BIND,
    ("namespaces of patches", "rdflib.replay Graph"): _BIND,
}


def lines(entries: Any) -> Iterator[Any]:
    for group, (dimensions, _) in GROUPS.items():
        for dimension in dimensions:
            for entry in entries[group]:
                reason = _STEEP.get((dimension, entry))
                marks = [pytest.mark.xfail(reason=reason)] if reason else []
                yield pytest.param(group, dimension, entry, id=f"{dimension}-{entry}", marks=marks)


def prepared(group: str, dimension: str, entry: str, size: int) -> Callable[[], object]:
    """The function to measure; the test is skipped if the format cannot express the data."""
    dimensions, entries = GROUPS[group]
    try:
        run = entries[entry](dimensions[dimension](size))
        run()
    except ValueError as error:
        pytest.skip(f"cannot be expressed: {error}")
    return run


@pytest.fixture(autouse=True, scope="module")
def _frozen() -> Iterator[None]:
    """Exclude existing objects from garbage collections, which would otherwise take most of the
    time.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def executed(run: Callable[[], object]) -> int:
    """Count the instructions of Python that a call executes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def allocated(run: Callable[[], object]) -> int:
    """Return the peak of Python's allocations during a call, including its result."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        del kept
        tracemalloc.stop()


@pytest.mark.parametrize(("group", "dimension", "entry"), list(lines(_SHORT)))
def test_instructions_and_memory(group: str, dimension: str, entry: str) -> None:
    first = _FIRSTS.get(dimension, min(STARTS.get(dimension, _FIRST), _FIRST))
    runs = [prepared(group, dimension, entry, size) for size in (first, 2 * first, 4 * first)]
    for what, count, least in (
        ("instructions", executed, _INSTRUCTIONS),
        ("bytes", allocated, _BYTES),
    ):
        # The first call includes one-time initialisation.
        count(runs[0])
        counts = [count(run) for run in runs]
        added = counts[1] - counts[0], counts[2] - counts[1]
        assert added[1] <= max(_MOST * added[0], least), (what, counts)


def seconds(run: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "dimension", "entry"),
    list(lines({group: each[1] for group, each in GROUPS.items()})),
)
def test_time(group: str, dimension: str, entry: str) -> None:
    size = STARTS.get(dimension, START)
    figures: list[tuple[int, float]] = []
    while len(figures) < 7 and size <= MOST.get(dimension, size):
        run = prepared(group, dimension, entry, size)
        # The fastest of several: other programs only make a run slower.
        figures.append((size, min(seconds(run) for _ in range(_ATTEMPTS))))
        if figures[-1][1] > _ENOUGH:
            break
        size *= 2
    known = [each for each in figures if each[1] >= _LEAST][-3:]
    if len(known) > 1:
        (first, low), (last, high) = known[0], known[-1]
        assert math.log(high / low) / math.log(last / first) <= _EXPONENT, figures

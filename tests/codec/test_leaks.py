"""The compiled kernel keeps nothing of rejected input: after thousands of failing inputs, memory
use and reference counts are unchanged.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from random import Random
from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    GenericFactory,
    Limits,
    PhysicalType,
    StreamOptions,
    Triple,
)
from jelly_plugins.codec.text.ntriples import Dialect
from jelly_plugins.errors import JellyError

from ..fuzz import readers, writers
from ..fuzz.comparison import Outcome, native
from ..fuzz.lending import Rejection
from ..fuzz.statements import (
    random_batches,
    random_options,
    random_patch_options,
    random_steps,
)
from ..fuzz.streams import damaged_log, damaged_stream, leaning, leaning_in_log, limits_for
from ..fuzz.texts import random_columns, random_text

#: Number of inputs of each sort; only rejected ones count.
INPUTS = 80
#: How often each input is rejected between two measurements, and the maximum number of
#: measurements.
ROUNDS = 2
MEASUREMENTS = 20
#: Size of the smallest object in bytes.
SMALL = 32

Case = Callable[[], Outcome]


def decoding(rng: Random) -> Case:
    return partial(readers.terms, native().Decoder, damaged_stream(rng), limits_for(rng))


def decoding_text(rng: Random) -> Case:
    return partial(readers.text, native().TextDecoder, leaning(rng), limits_for(rng))


def decoding_validated_text(rng: Random) -> Case:
    given = (leaning(rng), limits_for(rng), readers.VALIDATORS[1])
    return partial(readers.text, native().TextDecoder, *given)


def decoding_columns(rng: Random) -> Case:
    settings = {"limits": limits_for(rng), "batch_rows": 5}
    return partial(readers.columns, native().ColumnDecoder, leaning(rng), settings)


def decoding_patches(rng: Random) -> Case:
    return partial(readers.operations, native().PatchDecoder, damaged_log(rng), limits_for(rng))


def decoding_patch_columns(rng: Random) -> Case:
    given = (leaning_in_log(rng), limits_for(rng), None, {"batch_rows": 5})
    return partial(readers.patch_columns, native().PatchColumnDecoder, *given)


def encoding(rng: Random) -> Case:
    options = random_options(rng)
    settings = {"limits": limits_for(rng)}
    steps = random_steps(rng, options)
    return partial(writers.statements, native().Encoder, options, steps, settings)


def encoding_patches(rng: Random) -> Case:
    options = random_patch_options(rng)
    settings = {"limits": limits_for(rng)}
    batches = random_batches(rng, options)
    return partial(writers.operations, native().PatchEncoder, options, batches, settings)


def encoding_text(rng: Random) -> Case:
    options = StreamOptions(physical_type=rng.choice(list(PhysicalType)[1:]))
    settings = {"limits": limits_for(rng), "dialect": Dialect.RDF_1_1}
    chunks = random_text(rng, rng.choice((3, 4)))
    return partial(writers.text, native().TextEncoder, options, chunks, settings)


def encoding_columns(rng: Random) -> Case:
    options = StreamOptions(physical_type=PhysicalType.QUADS)
    batches = [random_columns(rng, rng.choice((3, 4, 4))) for _ in range(2)]
    settings = {"limits": limits_for(rng), "dialect": Dialect.RDF_1_1}
    return partial(writers.columns, native().ColumnEncoder, options, batches, settings)


SORTS = [
    decoding,
    decoding_text,
    decoding_validated_text,
    decoding_columns,
    decoding_patches,
    decoding_patch_columns,
    encoding,
    encoding_patches,
    encoding_text,
    encoding_columns,
]


def cases_of(sort: Callable[[Random], Case], inputs: int = INPUTS) -> Iterator[Case]:
    return (sort(Random(f"leaks/{seed}")) for seed in range(inputs))


def is_rejected(outcome: Outcome) -> bool:
    """Whether an input was rejected; an outcome that continues after errors has them among its
    events.
    """
    events, error = outcome
    return error is not None or any(isinstance(event, Rejection) for event in events)


def run(cases: Iterable[Case]) -> None:
    for case in cases:
        case()


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


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.__name__)
def test_rejected_input_is_not_kept(sort: Callable[[Random], Case]) -> None:
    native()
    cases = [case for case in cases_of(sort) if is_rejected(case())]
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


def test_each_kind_of_rejection_was_among_them() -> None:
    native()
    kinds = {
        outcome[1][0].__name__
        for sort in (decoding, decoding_patches, encoding_text)
        for outcome in (case() for case in cases_of(sort, 200))
        if outcome[1] is not None
    }
    named = "Wire Options Order LookupTable Statement Limit Text"
    assert kinds >= {f"{name}Error" for name in named.split()}


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

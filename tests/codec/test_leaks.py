"""The compiled kernel holds nothing of what it refused, whatever the reason: thousands of failing
inputs leave memory as it was, and reference counts too."""

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
from jelly_plugins.codec.ntriples import Dialect

from ..fuzz import differential, patch_differential
from ..fuzz.comparison import Outcome, native

#: Inputs of each sort that are tried; those that are refused count.
INPUTS = 400
#: How often each of them is refused between two looks at memory, and how many looks there are at
#: most.
ROUNDS = 2
SPANS = 8
#: Bytes of the smallest object.
SMALL = 32

Case = Callable[[], Outcome]


def decoding(rng: Random) -> Case:
    stream, limits = differential.damaged_stream(rng), differential.limits_for(rng)
    return partial(differential.decoded, native().Decoder, stream, limits)


def decoding_text(rng: Random) -> Case:
    stream, limits = differential.damaged_stream(rng), differential.limits_for(rng)
    return partial(differential.decoded_text, native().TextDecoder, stream, limits)


def decoding_columns(rng: Random) -> Case:
    stream = differential.damaged_stream(rng)
    settings = {"limits": differential.limits_for(rng), "batch_rows": 5}
    return partial(differential.decoded_columns, native().ColumnDecoder, stream, settings)


def decoding_patches(rng: Random) -> Case:
    stream, limits = patch_differential.damaged_stream(rng), differential.limits_for(rng)
    return partial(patch_differential.decoded, native().PatchDecoder, stream, limits)


def encoding(rng: Random) -> Case:
    options = differential.random_options(rng)
    steps = differential.random_steps(rng, options)
    settings = {"limits": differential.limits_for(rng)}
    return partial(differential.encoded, native().Encoder, options, steps, settings)


def encoding_patches(rng: Random) -> Case:
    options = patch_differential.random_options(rng)
    batches = patch_differential.random_batches(rng, options)
    settings = {"limits": differential.limits_for(rng)}
    return partial(patch_differential.encoded, native().PatchEncoder, options, batches, settings)


def encoding_text(rng: Random) -> Case:
    options = StreamOptions(physical_type=rng.choice(list(PhysicalType)[1:]))
    settings = {"limits": differential.limits_for(rng), "dialect": Dialect.RDF_1_1}
    text = differential.random_text(rng)
    return partial(differential.encoded_text, native().TextEncoder, options, text, settings)


def encoding_columns(rng: Random) -> Case:
    options = StreamOptions(physical_type=PhysicalType.QUADS)
    batches = [differential.random_columns(rng, rng.choice((3, 4, 4))) for _ in range(2)]
    settings = {"limits": differential.limits_for(rng), "dialect": Dialect.RDF_1_1}
    return partial(differential.encoded_columns, native().ColumnEncoder, options, batches, settings)


SORTS = [
    decoding,
    decoding_text,
    decoding_columns,
    decoding_patches,
    encoding,
    encoding_patches,
    encoding_text,
    encoding_columns,
]


def cases_of(sort: Callable[[Random], Case]) -> Iterator[Case]:
    return (sort(Random(f"leaks/{seed}")) for seed in range(INPUTS))


def is_refused(outcome: Outcome) -> bool:
    """Whether something was refused; where others go on after that, it is among the events."""
    events, error = outcome
    return error is not None or any(
        isinstance(event, tuple) and event and isinstance(event[0], type) for event in events
    )


def run(cases: Iterable[Case]) -> None:
    for case in cases:
        case()


def grows(cases: list[Case]) -> bool:
    """Whether each refusal leaves at least a small object behind, or all of them some that the
    garbage collector knows."""
    objects = len(gc.get_objects())
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(ROUNDS):
        run(cases)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    return after - before > SMALL * len(cases) or len(gc.get_objects()) - objects >= 20


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.__name__)
def test_what_is_refused_is_not_held(sort: Callable[[Random], Case]) -> None:
    native()
    cases = [case for case in cases_of(sort) if is_refused(case())]
    assert len(cases) > INPUTS // 8
    tracemalloc.start()
    try:
        # Also what the kernel allocates for itself is traced.
        run(cases)
        gc.collect()
        # The kernel keeps some hundred freed descriptions of terms for later use, of which some
        # were made before there was anybody to trace them. What leaks grows each time.
        assert not all(grows(cases) for _ in range(SPANS))
    finally:
        tracemalloc.stop()


def test_each_kind_of_refusal_was_among_them() -> None:
    native()
    kinds = {
        outcome[1][0].__name__
        for sort in (decoding, decoding_patches, encoding_text)
        for outcome in (case() for case in cases_of(sort))
        if outcome[1] is not None
    }
    named = "Wire Options Order LookupTable Statement Limit Text"
    assert kinds >= {f"{name}Error" for name in named.split()}


def test_what_is_handed_over_is_given_back() -> None:
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
        differential.decoded(partial(decoder_of, kernel, factory), stream, limits)
        differential.encoded(kernel.Encoder, options, [("add", [row])], {"limits": limits})
    assert counts() == before


def decoder_of(kernel: Any, factory: Any, _: Any, *, limits: Limits) -> Any:
    """A decoder with a factory of ours."""
    return kernel.Decoder(factory, limits=limits)

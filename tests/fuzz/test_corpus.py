"""The corpus of coverage-guided fuzzing, see README.md: short inputs that cover the same code of
the compiled kernel as all inputs found. Both kernels agree on each, and the mutator keeps their
form.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from .comparison import native
from .leaning import leaning_log, leaning_stream
from .message_mutator import MUTATORS, joined, parse, serialize, split_frames
from .targets import CASES, CORPUS, seeds

#: Maximum size of the corpus in bytes.
MOST = 1 << 20


def inputs(which: str) -> list[Path]:
    return sorted((CORPUS / which).iterdir())


@pytest.mark.parametrize("which", CASES)
def test_both_kernels_agree_on_the_corpus(which: str) -> None:
    native()
    outcomes = []
    for path in inputs(which):
        try:
            outcomes.append(CASES[which](path.read_bytes()).compare())
        except AssertionError as error:
            raise AssertionError(f"{path.name}: {error}") from None
    # The corpus contains accepted and rejected inputs.
    assert any(error is None for _, error in outcomes)
    assert any(error is not None for _, error in outcomes)


def test_the_corpus_is_small() -> None:
    sizes = [path.stat().st_size for which in CASES for path in inputs(which)]
    assert sum(sizes) < MOST


@pytest.mark.parametrize("which", CASES)
def test_mutated_inputs_keep_their_form(which: str) -> None:
    """A mutated input usually differs, depends on the seed alone, and stays within its bounds."""
    made = seeds(which)[:60]
    changed = [MUTATORS[which](data, 2000, number) for number, data in enumerate(made)]
    assert changed == [MUTATORS[which](data, 2000, number) for number, data in enumerate(made)]
    assert max(map(len, changed)) <= 2000
    differing = sum(after != before for after, before in zip(changed, made, strict=True))
    assert differing > len(made) // 2
    assert MUTATORS[which](b"", 2000, 1)


@pytest.mark.parametrize("stream", [leaning_stream, leaning_log])
def test_frames_are_split_and_joined(stream: type) -> None:
    for number in range(20):
        frames = stream(Random(number))
        assert split_frames(joined(frames)) == frames
        for frame in frames:
            fields = parse(frame)
            assert fields is not None
            assert serialize(fields) == frame

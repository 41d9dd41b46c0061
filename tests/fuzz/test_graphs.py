"""Run ``tests.fuzz.graphs`` for some seconds: the kernels agree on every stream and target."""

from __future__ import annotations

import os
import subprocess
import sys

from jelly_plugins.codec.rdf.decoder import Decoder

from ..shared_data import ROOT
from .comparison import native_of
from .graphs import TARGETS, run

CASES = 60


def _outcomes(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.graphs", "0", str(CASES)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_streams_of_graphs_are_read_whole_or_not_at_all() -> None:
    rejected = run(range(CASES))
    assert set(rejected) == set(TARGETS)
    assert 0 < sum(rejected.values()) < CASES * len(TARGETS)


def test_kernels_agree_on_streams_of_graphs() -> None:
    native_of(Decoder)
    reference = _outcomes(JELLY_PURE_PYTHON="1")
    assert len(reference) == CASES * len(TARGETS)
    assert _outcomes(JELLY_PURE_PYTHON="") == reference

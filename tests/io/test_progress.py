"""Progress of the functions that write what they are given."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from .writers import WRITERS, triples

NUMBER = 25_000
TRIPLES = triples(NUMBER)


@pytest.mark.parametrize("name", WRITERS)
def test_progress_counts_all(name: str) -> None:
    reported: list[int] = []
    WRITERS[name](TRIPLES, io.BytesIO(), reported.append)
    assert 2 <= len(reported) <= 3
    assert sum(reported) == NUMBER


@pytest.mark.parametrize("name", WRITERS)
def test_an_exception_of_the_last_call_keeps_the_old_file(name: str, tmp_path: Path) -> None:
    def stop(number: int) -> None:
        raise InterruptedError(number)

    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(InterruptedError):
        WRITERS[name](TRIPLES[:20], path, stop)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1

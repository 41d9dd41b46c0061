"""Run every job: by default one of each group, all of them with the slow tests. Times are not
checked.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from . import format_jobs, results, stream_jobs
from .__main__ import main
from .data import from_file, mix_chunks
from .measure import Job, jobs
from .plot import plot

# rdflib's parsers use features about which rdflib warns.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def one_of_each_group(found: list[Job]) -> list[Any]:
    """Return the jobs as parameters; all but the first of each group, and all of Spark, are marked
    as slow.
    """
    short = {job.group: job.name for job in reversed(found) if job.group != "spark"}.values()
    return [
        pytest.param(job, marks=() if job.name in short else pytest.mark.slow, id=job.name)
        for job in found
    ]


ON_DATA = one_of_each_group([job for job in jobs().values() if job.takes_data])
ON_THEIR_OWN = one_of_each_group([job for job in jobs().values() if not job.takes_data])


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "small.nt"
    path.write_bytes(b"".join(mix_chunks(200)))
    return path


@pytest.mark.parametrize("job", ON_DATA)
def test_jobs_on_data(job: Job, small: Path) -> None:
    measured = job.run(from_file(small), 2, time.perf_counter)
    assert measured.count > 0
    assert measured.values
    assert all(figure > 0 for figures in measured.values.values() for figure in figures)
    assert measured.job in results.rows(measured)


@pytest.mark.parametrize("job", ON_THEIR_OWN)
def test_jobs_with_their_own_data(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_jobs, "SUBSCRIBERS", 5)
    monkeypatch.setattr(stream_jobs, "SENT", 500)
    monkeypatch.setattr(format_jobs, "ROWS", 100)
    monkeypatch.setattr(format_jobs, "MESSAGES", 100)
    measured = job.run(None, 1, time.perf_counter)
    assert all(figure > 0 for figures in measured.values.values() for figure in figures)


def test_the_mix_is_deterministic() -> None:
    once, again = (b"".join(mix_chunks(1000)) for _ in range(2))
    assert once == again
    assert once.count(b"\n") == 1000


def test_the_command_line(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "figures.json"
    common = ["--data", str(small), "--rounds", "1"]
    main(["jelly-to-ntriples", "size", *common, "--json", str(figures)])
    assert "Jelly → N-Triples bytes (small, 200 triples)" in capsys.readouterr().out
    main(["--from", str(figures), "--markdown"])
    table = capsys.readouterr().out
    assert "| Jelly → N-Triples bytes | ours |" in table
    assert "| Size of the stream | ours |" in table


@pytest.mark.slow
def test_a_chart(small: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="charts need matplotlib, which is in the dev extra")
    job = jobs()["jelly-to-ntriples"]
    measured = [job.run(from_file(small), 1, time.perf_counter)]
    chart = tmp_path / "chart.svg"
    plot(measured, chart)
    drawn = chart.read_bytes()
    assert "Jelly → N-Triples bytes" in drawn.decode()
    plot(measured, chart)
    assert chart.read_bytes() == drawn


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["growth", "200"], ["commands", "--rounds", "1", "SMALL"]])
def test_scripts_of_their_own(arguments: list[str], small: Path) -> None:
    given = [str(small) if each == "SMALL" else each for each in arguments[1:]]
    command = [sys.executable, "-m", f"{__package__}.{arguments[0]}", *given]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert len(out.splitlines()) > 4

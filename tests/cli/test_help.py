"""The help of every command: what arguments are, and examples, which run."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from jelly_plugins.cli.app import app
from jelly_plugins.cli.help import EXAMPLES, commands

from .command import command, jelly

COMMANDS = list(commands(app))
#: What needs a server or Spark is tried elsewhere.
ELSEWHERE = ("serve", "publish", "subscribe", "spark")

NT = b'<urn:s> <urn:p> "o"@en .\n<urn:s> <urn:q> _:b .\n'


def test_there_are_examples_of_every_command() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_for_whoever_types(name: str) -> None:
    text = jelly(*name.split(), "--help").text
    assert "list[" not in text
    assert "Examples:\n" in text
    for line in EXAMPLES[name]:
        assert f"  {line}\n" in text
        assert line.startswith(f"jelly {name}")


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.nt").write_bytes(NT)
    Path("new.nt").write_bytes(NT.replace(b"en", b"de"))
    for name, lines in EXAMPLES.items():
        if name.startswith(ELSEWHERE):
            continue
        for line in lines:
            done = jelly(*shlex.split(line)[1:])
            assert (done.code, done.err) == (0, ""), (line, done)


def test_arguments_that_can_be_repeated() -> None:
    assert "convert [OPTIONS] SRC...\n" in jelly("convert", "--help").text
    assert "query [OPTIONS] QUERY [SRC]...\n" in jelly("query", "--help").text


def test_a_value_is_rejected_in_plain_words() -> None:
    done = jelly("convert", "x.nt", "--physical-type", "cubes")
    assert done.code == 2
    assert "Value error" not in done.err
    assert "cubes" in done.err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("jelly conv", "convert"),
        ("jelly convert x.nt --to j", "jelly jelly-text jsonld jellys"),
        ("jelly convert x.nt --from ya", "yamlld"),
        ("jelly patch diff a b --from t", "ttl trig"),
    ],
)
def test_a_shell_completes(typed: str, offered: str) -> None:
    place = str(len(typed.split()) - 1)
    words = {"COMP_WORDS": typed, "COMP_CWORD": place, "_JELLY_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [*command()[:2], "import sys; sys.argv[0] = 'jelly'\n" + command()[2]],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [each.partition(",")[2] for each in done.stdout.split()] == offered.split(), done

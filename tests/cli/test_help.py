"""The help of every command: its options, and examples, which run."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from jelly_plugins.cli.app import app
from jelly_plugins.cli.options import commands, examples

from .command import command, jelly

COMMANDS = commands(app)
#: In an order in which each finds the files that it needs. What needs a server or Spark is tried
#: elsewhere.
IN_ORDER = [
    *("demo", "convert", "inspect", "validate", "load", "dump", "query"),
    *(f"patch {each}" for each in ("diff", "show", "check", "apply", "status", "convert")),
    *(f"patch {each}" for each in ("invert", "compact", "undo", "redo")),
]
ELSEWHERE = ("serve", "publish", "subscribe", "spark")

NT = b'<urn:s> <urn:p> "o"@en .\n<urn:s> <urn:q> _:b .\n'


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_and_a_text_for_each_option(name: str) -> None:
    text = jelly(*name.split(), "--help").text
    assert "list[" not in text
    assert examples(COMMANDS[name])
    for line in examples(COMMANDS[name]):
        assert f"    {line}\n" in text
        assert line.startswith(f"jelly {name}")
    for each in COMMANDS[name].params:
        assert each.help, each.name
        assert each.help.endswith("."), each.help


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.nt").write_bytes(NT)
    Path("new.nt").write_bytes(NT.replace(b"en", b"de"))
    assert {each for each in COMMANDS if not each.startswith(ELSEWHERE)} == set(IN_ORDER)
    for name in IN_ORDER:
        for line in examples(COMMANDS[name]):
            done = jelly(*shlex.split(line)[1:])
            assert (done.code, done.err) == (0, ""), (line, done)


def test_arguments_that_can_be_repeated() -> None:
    assert "convert [OPTIONS] SRC...\n" in jelly("convert", "--help").text
    assert "query [OPTIONS] QUERY [SRC]...\n" in jelly("query", "--help").text


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

"""The help of every command: its options, and examples, which run; and how functions and settings
classes become commands."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from click.testing import CliRunner

from jelly_plugins import Limits
from jelly_plugins.cli.app import app
from jelly_plugins.cli.options import Parsed, Size, commands, examples
from jelly_plugins.cli.options import command as made
from jelly_plugins.codec import DEFAULT_LIMITS

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


class Shape(IntEnum):
    ROUND_ONE = 1
    SQUARE = 2


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the command below.

    :ivar rows: rows of a frame, see ``frames``: at least one.
        More are faster.
    :ivar checked: whether to reject what is
        malformed. Costs nothing.
    :ivar names: keep names.
    """

    rows: int | None = None
    checked: bool = False
    names: bool = True
    shape: Shape | None = None
    mode: Literal["fresh", "keep"] = "fresh"
    size: Size = 5
    limits: Limits = DEFAULT_LIMITS
    hidden: int = 3

    def __post_init__(self) -> None:
        if self.rows == 0:
            raise ValueError("rows must not be 0, or give checked")


def pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text} is not A=B")
    return name, value


def run(*arguments: str) -> tuple[Any, str]:
    """The arguments of the function below as a command, and what is printed."""
    got: list[Any] = []

    def function(
        words: list[str],
        *,
        pairs: Annotated[dict[str, str], Parsed("A=B", pair)] = {},  # noqa: B006
        settings: Annotated[Settings, "rows", "checked", "names", "shape", "mode", "size"],
    ) -> None:
        """Do it.

        $ jelly function x

        :param pairs: The pairs.
        """
        got.append((words, pairs, settings))

    done = CliRunner().invoke(made(function), list(arguments))
    return (got[0] if got else None), done.output


def test_parameters_and_fields_have_their_types() -> None:
    assert run("x", "y")[0] == (["x", "y"], {}, Settings())
    flags = ("--rows", "3", "--checked", "--no-names", "--shape", "round-one", "--mode", "keep")
    changed = Settings(
        rows=3, checked=True, names=False, shape=Shape.ROUND_ONE, mode="keep", size=1024
    )
    found = run("x", *flags, "--size", "1K", "--pairs", "a=b", "--pairs", "c=d")[0]
    assert found == (["x"], {"a": "b", "c": "d"}, changed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "Missing argument 'WORDS...'"),
        ("x --hidden 4", "--hidden"),
        ("x --shape cube", "'cube' is not one of 'round-one', 'square'"),
        ("x --mode other", "--mode"),
        ("x --size 1T", "'1T' is not a size"),
        ("x --pairs a", "a is not A=B"),
        ("x --rows 0", "--rows must not be 0, or give --checked"),
    ],
)
def test_other_values_and_fields_are_wrong_usage(arguments: str, words: str) -> None:
    got, said = run(*arguments.split())
    assert got is None
    assert words in said


def test_help_is_the_first_sentence_about_a_field() -> None:
    said = " ".join(run("--help")[1].split())
    for words in (
        "The pairs.",
        "Rows of a frame, see frames. -",
        "Keep names.",
        "jelly function x",
    ):
        assert words in said
    assert "Whether to reject what is malformed. -" in said
    assert "hidden" not in said

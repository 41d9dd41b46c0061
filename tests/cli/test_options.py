"""Options that are generated from settings classes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any, Literal

import pytest
from click.testing import CliRunner

from jelly_plugins import Limits
from jelly_plugins.cli.console import WrongUsageError
from jelly_plugins.cli.options import Argument, FieldOption, Fields, Option, field_texts, made
from jelly_plugins.cli.settings import parse_size
from jelly_plugins.codec import DEFAULT_LIMITS


class Shape(IntEnum):
    ROUND_ONE = 1
    SQUARE = 2


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the command below.

    :ivar rows: rows of a frame, see ``frames``: at least one.
        More are faster.
    :ivar strict: whether to reject what is
        malformed. Costs nothing.
    :ivar names: keep names.
    """

    rows: int | None = None
    strict: bool = False
    names: bool = True
    shape: Shape | None = None
    mode: Literal["fresh", "keep"] = "fresh"
    size_of: int = 5
    limits: Limits = DEFAULT_LIMITS
    port: Annotated[int, Option("--port", help="Port.", max=10)] = 7
    hidden: int = 3

    def __post_init__(self) -> None:
        if self.rows == 0:
            raise ValueError("rows must not be 0, or give size_of")


_SIZE = Annotated[int | None, Option("--size", parser=parse_size)]


def run(*arguments: str) -> tuple[Settings, str]:
    got: list[Any] = []

    def command(
        source: Annotated[str, Argument()],
        settings: Annotated[
            Settings,
            Fields(
                *("rows", "strict", "names", "shape", "mode", "port"),
                size_of=FieldOption(_SIZE, lambda size: None if size is None else size + 1),
            ),
        ],
    ) -> None:
        got.extend((settings, source))

    done = CliRunner().invoke(made(command), list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code or not got:
        raise AssertionError(done.output)
    return got[0], got[1]


def test_defaults_are_those_of_the_class() -> None:
    assert run("x") == (Settings(), "x")


def test_every_type_of_field_is_an_option() -> None:
    flags = ("--rows", "3", "--strict", "--no-names", "--shape", "round-one", "--mode", "keep")
    assert run("x", *flags, "--port", "9", "--size", "1K")[0] == Settings(
        rows=3, strict=True, names=False, shape=Shape.ROUND_ONE, mode="keep", port=9, size_of=1025
    )


@pytest.mark.parametrize("given", ["--hidden 4", "--shape cube", "--mode other", "--port 11"])
def test_other_values_and_fields_are_wrong_usage(given: str) -> None:
    with pytest.raises(AssertionError):
        run("x", *given.split())


def test_an_error_of_the_class_names_the_options() -> None:
    with pytest.raises(WrongUsageError, match=r"^--rows must not be 0, or give --size$"):
        run("x", "--rows", "0")


def test_a_field_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(TypeError, match="Settings has no field rws"):
        Fields("rws").of(Settings)


def test_help_is_the_first_sentence_about_a_field() -> None:
    assert field_texts(Settings) == {
        "rows": "Rows of a frame, see frames.",
        "strict": "Whether to reject what is malformed.",
        "names": "Keep names.",
    }
    with pytest.raises(AssertionError, match="Whether to reject what is malformed"):
        run("--help")

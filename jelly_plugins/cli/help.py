"""How the commands' help looks: arguments by what they are, and examples that can be typed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand

from .examples import EXAMPLES


class JellyCommand(TyperCommand):
    """A command whose help shows no types of Python's, and ends with examples line by line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            if isinstance(param, TyperArgument):
                # Versions of Typer that show the type of an argument ask this for it.
                param.display_type_rich = lambda *_, **__: ""  # type: ignore[method-assign,unused-ignore]

    def format_epilog(self, _ctx: Any, formatter: Any) -> None:
        if self.epilog:
            formatter.write("\nExamples:\n")
            for line in self.epilog.splitlines():
                formatter.write(f"  {line}\n")


def add_examples(app: typer.Typer) -> None:
    """Have all commands of an app show their help so, with :data:`.EXAMPLES`."""
    for name, command in commands(app):
        command.cls = JellyCommand
        command.epilog = "\n".join(EXAMPLES.get(name, ()))


def commands(app: typer.Typer, group: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of an app and its groups, by what is typed for them."""
    for command in app.registered_commands:
        callback = command.callback
        assert callback is not None
        yield f"{group}{command.name or callback.__name__.replace('_', '-')}", command
    for each in app.registered_groups:
        assert each.typer_instance is not None
        yield from commands(each.typer_instance, f"{group}{each.name} ")

"""Help texts of the commands and their examples. Tests run the examples in this order."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import typer
from typer.core import TyperArgument, TyperCommand
from typer.main import get_group

from .options import expanded

#: Examples by command, from files that the examples before them make.
EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "demo": ("jelly demo",),
    "convert": (
        "jelly convert data.nt -o data.jelly.gz",
        "jelly convert data.jelly.gz --to turtle",
        "jelly convert data.nt -o data.ttl",
        "jelly convert data.nt data.ttl data.jelly.gz -o all.jelly --frame-rows 5",
        "jelly convert all.jelly --to jelly-text",
        "jelly convert data.ttl -o one.jelly --not-delimited --preset small",
    ),
    "inspect": (
        "jelly inspect data.jelly.gz",
        "jelly inspect data.jelly.gz --frames --json",
    ),
    "validate": (
        "jelly validate data.jelly.gz",
        "jelly validate data.jelly.gz --against data.nt",
        "jelly validate data.jelly.gz --terms",
    ),
    "load": ("jelly load data.jelly.gz data.nt --store data.store",),
    "dump": (
        "jelly dump --store data.store -o dump.jelly",
        "jelly dump --store data.store --graph default -o graph.jelly",
    ),
    "query": (
        "jelly query 'SELECT * { ?s ?p ?o }' --store data.store -o results.jellys",
        "jelly query 'SELECT * { ?s ?p ?o } LIMIT 3' --store data.store --to tsv",
    ),
    "serve": ("jelly serve --topic data=data.jelly.gz",),
    "publish": ("jelly publish data.jelly.gz --to localhost:50051 --topic data",),
    "subscribe": ("jelly subscribe data --from localhost:50051 -o copy.jelly",),
    "patch diff": ("jelly patch diff data.nt new.nt -o change.jellyp",),
    "patch show": ("jelly patch show change.jellyp",),
    "patch check": ("jelly patch check change.jellyp",),
    "patch apply": ("jelly patch apply change.jellyp --store data.store",),
    "patch status": ("jelly patch status --store data.store",),
    "patch convert": ("jelly patch convert change.jellyp -o change.rdfp",),
    "patch invert": ("jelly patch invert change.jellyp -o undo.jellyp",),
    "patch compact": ("jelly patch compact change.jellyp undo.jellyp -o both.jellyp",),
    "patch undo": ("jelly patch undo change.jellyp --store data.store",),
    "patch redo": ("jelly patch redo change.jellyp",),
    "spark apply": ("jelly spark apply change.jellyp --root shards --shards 4",),
    "spark status": ("jelly spark status shards",),
    "spark verify": ("jelly spark verify shards",),
    "spark vacuum": ("jelly spark vacuum shards --keep 2",),
    "spark restore": ("jelly spark restore shards --version 1",),
}


class JellyCommand(TyperCommand):
    """A command whose help hides Python types and ends with examples."""

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


def finished(name: str, module: ModuleType) -> Any:
    """The command or group of a module under this name: a function, or the module's ``app``."""
    function = getattr(module, name, None)
    if function is None:
        app: typer.Typer = module.app
    else:
        app = typer.Typer(rich_markup_mode=None)
        app.command(name)(function)
    for command in app.registered_commands:
        callback = command.callback
        assert callback is not None
        own = command.name or callback.__name__.replace("_", "-")
        command.cls = JellyCommand
        command.callback = expanded(callback)
        command.epilog = "\n".join(EXAMPLES.get(own if own == name else f"{name} {own}", ()))
    made = get_group(app)
    made.name = name
    return made if function is None else made.commands[name]


def commands(group: Any, before: str = "") -> Iterator[str]:
    """The full names of the commands of a group and its subgroups."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name

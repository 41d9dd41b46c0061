"""The examples in the help of the commands. Tests run the examples in this order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

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
    "patch undo": ("jelly patch undo change.jellyp",),
    "patch redo": ("jelly patch redo change.jellyp",),
    "spark apply": ("jelly spark apply change.jellyp --root shards --shards 4",),
    "spark status": ("jelly spark status shards",),
    "spark verify": ("jelly spark verify shards",),
    "spark vacuum": ("jelly spark vacuum shards --keep 2",),
    "spark restore": ("jelly spark restore shards --version 1",),
}


def commands(group: Any, before: str = "") -> Iterator[str]:
    """The full names of the commands of a group and its subgroups."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name

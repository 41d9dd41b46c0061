"""The examples that the help of each command ends with. They run as tests, in their order."""

from __future__ import annotations

from typing import Final

#: Lines to type, by command. Files of one command are there for those behind it.
EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "demo": ("jelly demo",),
    "convert": (
        "jelly convert data.nt -o data.jelly.gz",
        "jelly convert data.jelly.gz --to turtle",
        "jelly convert data.nt -o data.ttl",
        "jelly convert data.nt data.ttl data.jelly.gz -o all.jelly --frame-rows 5",
        "jelly convert all.jelly --take-frames 1.. --to jelly-text",
        "jelly convert data.ttl -o one.jelly --not-delimited --options-from all.jelly",
        "jelly convert data.ttl -o named.jelly --used-namespaces",
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
        "jelly dump --store data.store --graph http://example.org/g -o graph.jelly",
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
    "spark apply": ("jelly spark apply change.jellyp --root shards --shards 4",),
    "spark status": ("jelly spark status --root shards",),
    "spark verify": ("jelly spark verify --root shards",),
    "spark vacuum": ("jelly spark vacuum --root shards --keep 2",),
    "spark history": ("jelly spark history shards",),
    "spark restore": ("jelly spark restore shards --version 1",),
    "spark reshard": ("jelly spark reshard shards 8",),
    "spark changes": ("jelly spark changes shards --from-version 1 -o changes.jellyp",),
    "spark copy": ("jelly spark copy shards copy --history",),
}

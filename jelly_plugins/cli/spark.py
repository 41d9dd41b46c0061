"""``jelly spark``: sharded stores. Only ``apply --master`` starts Spark."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from click.exceptions import Exit

from . import console, settings
from .console import STANDARD, WrongUsageError
from .options import Argument, Group, Option
from .patch import LogArguments
from .signals import stopped_by_signals

if TYPE_CHECKING:
    from ..spark.shards import Version

#: Number of listed logs, those that were applied last.
_LISTED: Final = 10


class ShardBy(StrEnum):
    SUBJECT = "subject"
    GRAPH = "graph"


StorageOptions: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--storage-option",
        metavar="KEY=VALUE",
        help="A setting of the bucket, such as endpoint=URL; can be repeated. Pass credentials in "
        "the environment.",
    ),
]

RootArgument: TypeAlias = Annotated[
    str, Argument(metavar="ROOT", help="Folder of the store, or URL of one in a bucket.")
]

app = Group("spark", "Sharded stores: many Oxigraph stores that act as one.")


def _options(given: list[str] | None) -> dict[str, str]:
    """Parse settings. Errors do not show their values, which may be secrets."""
    pairs = [each.partition("=") for each in given or ()]
    if not all(name and is_set for name, is_set, _ in pairs):
        raise WrongUsageError("--storage-option must be KEY=VALUE")
    return {name: value for name, _, value in pairs}


@app.register
def apply(
    logs: LogArguments,
    root: Annotated[
        str,
        Option(
            "--root", metavar="DIR", help="Folder of the sharded store, or URL of one in a bucket."
        ),
    ],
    shards: Annotated[
        int | None,
        Option("--shards", min=1, help="Number of shards of a new store; 16 by default."),
    ] = None,
    shard_by: Annotated[
        ShardBy | None,
        Option("--shard-by", help="The term that determines the shard; the subject by default."),
    ] = None,
    master: Annotated[
        str | None,
        Option(
            "--master",
            metavar="URL",
            help="Spark's master URL, such as local[*]; by default, this process does "
            "the work without Spark.",
        ),
    ] = None,
    check_prev: Annotated[
        bool,
        Option(
            "--check-prev/--no-check-prev", help="Require each patch to follow the previous one."
        ),
    ] = True,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Apply the files of a log to a sharded store, as one version.

    Patches with ids are applied once: repeating the command does nothing, or applies what was added
    to the log. The store is created if it does not exist.
    """
    if logs.count(STANDARD) > 1:
        raise WrongUsageError("stdin can be given only once")
    options = _options(storage_option)
    from ..spark.shards import apply_patches

    spark: Any = None
    try:
        if master is not None:
            spark = _session(master)
        with console.open_sources(logs, "apply") as sources:
            done = apply_patches(
                spark,
                sources,
                root,
                shards=shards,
                shard_by=None if shard_by is None else shard_by.value,
                check_prev=check_prev,
                storage_options=options or None,
                limits=console.limits_from(),
            )
    finally:
        if spark is not None:
            spark.stop()
    console.print_report(
        as_json,
        asdict(done),
        {
            "version": f"{done.version:,}{'' if done.committed else ', unchanged'}",
            "shards": f"{done.shards:,} changed",
            "patches": f"{done.patches:,}",
            "added": console.counted(done.added, "quad"),
            "deleted": console.counted(done.deleted, "quad"),
            "aborted": console.counted(done.aborted, "transaction") if done.aborted else None,
            "held back": "an unfinished transaction" if done.held_back else None,
            "without id": f"{console.counted(done.unnamed, 'patch')}: applied again if given again"
            if done.unnamed
            else None,
        },
    )


def _session(master: str) -> Any:
    """Start Spark."""
    from ..spark import session

    # Py4J logs interrupts there.
    logging.getLogger().addFilter(lambda record: "KeyboardInterrupt" not in record.getMessage())
    # Java would print an error of its own if the command ended while it starts.
    with stopped_by_signals(lambda: None):
        return session(master, config={"spark.log.level": "FATAL"})


@app.register
def status(
    root: RootArgument,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Show a sharded store: its versions, logs and batches."""
    from ..spark import ShardedStore

    store = ShardedStore(root, storage_options=_options(storage_option) or None)
    versions, newest = store.versions(), store.content
    if as_json:
        shown = [_fields(each) for each in versions]
        logs = [log._asdict() for log in newest.logs]
        batches = {name: batch._asdict() for name, batch in newest.batches.items()}
        layout = {"shards": len(newest.shards), "shard_by": newest.shard_by}
        state = {"logs": logs, "batches": batches, "namespaces": newest.namespaces}
        console.print_json({"root": store.root, **layout, "versions": shown, **state})
        return
    console.print_fields(
        {
            "root": store.root,
            "shards": f"{len(newest.shards):,} by {newest.shard_by}",
            "quads": f"{newest.quads:,}",
            "largest": f"{max(shard.quads for shard in newest.shards):,} quads in a shard",
        }
    )
    for log in newest.logs[: -_LISTED - 1 : -1]:
        print(f"\nlog {log.first}\n  applied to {log.last}, {log.rows:,} rows of it")
    if len(newest.logs) > _LISTED:
        print(f"\nand {len(newest.logs) - _LISTED:,} older logs: --json")
    for name, batch in newest.batches.items():
        print(f"\napplication {name}\n  batch {batch.number:,}")
    print()
    for version in versions:
        print(_text(version))


def _fields(version: Version) -> dict[str, Any]:
    return {
        "version": version.number,
        "time": version.time,
        "quads": version.quads,
        "restored": version.restored,
    }


def _text(version: Version) -> str:
    restored = "" if version.restored is None else f", restored from version {version.restored:,}"
    return f"version {version.number:,} of {version.time}: {version.quads:,} quads{restored}"


@app.register
def restore(
    root: RootArgument,
    version: Annotated[int, Option("--version", min=1, help="The version to restore.")],
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Create a version with the content of an earlier one.

    Logs that are given again are applied from their positions in that version.
    """
    from ..spark.shards import restore as restore_

    done = restore_(root, version, storage_options=_options(storage_option) or None)
    if as_json:
        console.print_json(_fields(done))
    else:
        print(_text(done))


@app.register
def verify(
    root: RootArgument,
    version: Annotated[
        int | None, Option("--version", min=1, help="The version; by default the newest.")
    ] = None,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Read every quad of a version, and compare the counts.

    Exit code 0: no problems; 1: prints a line for each problem.
    """
    from ..spark.shards import verify as verify_

    problems = verify_(root, version, storage_options=_options(storage_option) or None)
    if as_json:
        console.print_json({"root": root, "problems": problems})
    else:
        print(*(problems or ["no problems"]), sep="\n")
    if problems:
        raise Exit(1)


@app.register
def vacuum(
    root: RootArgument,
    keep: Annotated[
        int, Option("--keep", min=1, help="Number of versions to keep, the newest ones.")
    ] = 10,
    grace: Annotated[
        float,
        Option(
            "--grace-hours",
            min=0,
            help="Keep everything that was written or current within this time; must be longer "
            "than any reader keeps a version open.",
        ),
    ] = 24,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be removed, and remove nothing.")
    ] = False,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Remove old versions, and what remains of failed attempts."""
    from ..spark.shards import vacuum as vacuum_

    done = vacuum_(
        root,
        keep=keep,
        grace=timedelta(hours=grace),
        dry_run=dry_run,
        storage_options=_options(storage_option) or None,
    )
    console.print_report(
        as_json,
        {**asdict(done), "dry_run": dry_run},
        {
            "dry run": "nothing was removed" if dry_run else None,
            "versions": f"{len(done.versions):,}",
            "stores": f"{len(done.stores):,}",
        },
    )

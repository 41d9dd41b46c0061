"""``jelly spark``: apply patch logs to sharded stores. Only ``apply`` starts Spark."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from . import console, settings
from .console import STANDARD, WrongUsageError
from .patch import CheckPrev, LogArguments, LogName, LogTo, log_output
from .signals import stopped_by_signals

if TYPE_CHECKING:
    from ..spark.sharded import Commit
    from ..spark.sharded.storage import Storage

#: Number of listed versions, the newest ones; and of logs, those that were applied last.
_LISTED: Final = 10


class ShardBy(StrEnum):
    SUBJECT = "subject"
    GRAPH = "graph"


RootFolder: TypeAlias = Annotated[
    str,
    typer.Option(
        "--root", metavar="DIR", help="Folder of the sharded store, or URL of one in a bucket."
    ),
]

StorageOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="KEY=VALUE",
        help="A setting of the bucket, such as endpoint=URL; can be repeated. Pass credentials in "
        "the environment.",
    ),
]

RootArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="ROOT", help="Folder of the store, or URL of one in a bucket.")
]

Version: TypeAlias = Annotated[
    int | None, typer.Option("--version", min=0, help="The version; by default the newest.")
]

Timestamp: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--timestamp",
        metavar="TIME",
        help="Instead of --version: the newest version at a time such as 2026-11-21T15:45:59Z.",
    ),
]

Metadata: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        metavar="KEY=VALUE",
        help="Description of the new version for the history, such as user=ann; can be repeated.",
    ),
]

app = typer.Typer(
    help="Sharded stores: many Oxigraph stores that act as one. Spark applies patch logs.",
    rich_markup_mode=None,
)


def _storage(root: str, options: list[str] | None) -> Storage:
    """Return the storage of a root."""
    from ..spark.sharded.storage import storage_at

    return storage_at(root, _named(options) or None)


def _named(options: list[str] | None, option: str = "--storage-option") -> dict[str, str]:
    """Parse settings by name. Errors do not show their values, which may be secrets."""
    given = [each.partition("=") for each in options or ()]
    if not all(name and is_set for name, is_set, _ in given):
        raise WrongUsageError(f"{option} must be KEY=VALUE")
    return {name: value for name, _, value in given}


def _time(version: int | None, timestamp: str | None) -> str | None:
    """Check a time that is given instead of a version."""
    from ..spark.sharded.checks import parse_time

    if timestamp is None:
        return None
    if version is not None:
        raise WrongUsageError("give either --version or --timestamp, not both")
    try:
        parse_time(timestamp)
    except ValueError as error:
        raise WrongUsageError(f"--timestamp: {error}") from None
    return timestamp


app.callback(invoke_without_command=True)(settings.help_without_command)


@app.command()
def apply(
    logs: LogArguments,
    root: RootFolder,
    shards: Annotated[
        int | None,
        typer.Option("--shards", min=1, help="Number of shards of a new store; 16 by default."),
    ] = None,
    shard_by: Annotated[
        ShardBy | None,
        typer.Option(
            "--shard-by", help="The term that determines the shard; the subject by default."
        ),
    ] = None,
    master: Annotated[
        str, typer.Option("--master", metavar="URL", help="Spark's master URL.")
    ] = "local[*]",
    name: LogName = None,
    check_prev: CheckPrev = True,
    existing: Annotated[
        bool,
        typer.Option("--existing", help="Do not create the store; it must exist."),
    ] = False,
    metadata: Metadata = None,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
    limit: settings.LimitSettings = None,
) -> None:
    """Apply logs to a sharded store, starting at its positions in them.

    They become one version, atomically. Repeating the command does nothing, or applies what was
    added to the log. The store is created if it does not exist, unless --existing.
    """
    limits = settings.limits_from(limit)
    if logs.count(STANDARD) > 1:
        raise WrongUsageError("stdin can be given only once")
    from ..spark import apply_patches, session
    from ..spark.sharded.commits import make_log

    storage = _storage(root, storage_option)
    description = _named(metadata, "--metadata")
    # Before Spark, which takes seconds to start.
    make_log(storage, shards, None if shard_by is None else shard_by.value, create=not existing)
    # Py4J logs interrupts there.
    logging.getLogger().addFilter(lambda record: "KeyboardInterrupt" not in record.getMessage())
    spark: Any = None
    try:
        # Java would print an error of its own if the command ended while it starts.
        with stopped_by_signals(lambda: None):
            spark = session(master, config={"spark.log.level": "FATAL"})
        with console.open_sources(logs, "apply") as sources:
            done = apply_patches(
                spark,
                sources,
                storage,
                name=name,
                check_prev=check_prev,
                # make_log has created it.
                create=False,
                metadata=description,
                limits=limits,
            )
    finally:
        if spark is not None:
            spark.stop()
    replayed = done.replayed
    position = replayed.position
    console.print_report(
        as_json,
        asdict(done),
        {
            "version": f"{done.version:,}{'' if done.committed else ', unchanged'}",
            "shards": f"{done.shards:,} changed",
            "patches": f"{replayed.patches:,}",
            "transactions": f"{replayed.transactions:,}",
            "operations": f"{replayed.operations:,}",
            "applied before": _transactions(replayed.skipped),
            "aborted": _transactions(replayed.aborted),
            "held back": f"{done.held_back:,} operations" if done.held_back else None,
            "position": None if position is None else f"patch {position.number:,} {position.patch}",
        },
    )


def _transactions(number: int) -> str | None:
    return f"{number:,} transactions" if number else None


@app.command()
def status(
    root: RootArgument,
    positions: Annotated[
        bool, typer.Option("--positions", help="Show the positions in all logs.")
    ] = False,
    detail: Annotated[
        bool,
        typer.Option("--detail", help="Show the quads, files and predicates of each shard."),
    ] = False,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Show the versions of a sharded store, and its positions in logs.

    By default, shows the number of positions and the most recent ones.
    """
    from ..spark import ShardedStore

    store = ShardedStore(_storage(root, storage_option))
    history = list(store.history())
    commit = store.commit
    latest = commit.positions[::-1]
    if not positions:
        latest = latest[:_LISTED]
    if as_json:
        versions = [_version_fields(each) for each in history]
        console.print_json(
            {"root": root, "layout": asdict(store.layout), "versions": versions}
            | {"positions": len(commit.positions)}
            | {"head": asdict(replace(commit, positions=latest))}
            | ({"shards": [asdict(each) for each in store.statistics()]} if detail else {})
        )
        return
    console.print_fields(
        {
            "root": root,
            "shards": f"{store.layout.shards:,} by {store.layout.shard_by}",
            "version": f"{commit.version:,}",
            "made": commit.timestamp or None,
            "clock": commit.ahead(),
            "quads": f"{commit.quads:,}",
            "largest": f"{max(shard.quads for shard in commit.shards or ()):,} quads in a shard",
            "logs": f"{len(commit.positions):,}",
        }
    )
    for position in latest:
        rest = "" if position.complete else f", {position.transactions:,} transactions of it"
        print(f"\nlog {position.log}\n  position  patch {position.number:,} {position.patch}{rest}")
    if len(latest) < len(commit.positions):
        print(f"\nand {len(commit.positions) - len(latest):,} older logs: --positions")
    for application, batch in commit.applications.items():
        print(f"\napplication {application}\n  batch  {batch.number:,}")
    for shard in store.statistics() if detail else ():
        print(
            f"\nshard {shard.shard}: {shard.quads:,} quads, {shard.files:,} files, "
            f"{shard.bytes:,} bytes"
        )
        for predicate, count in shard.predicates.items():
            print(f"  {count:>13,}  {predicate}")
    if history:
        print()
    for each in history[:_LISTED]:
        print(_version_text(each))
    if len(history) > _LISTED:
        print(f"and {len(history) - _LISTED:,} older ones")


def _version_fields(commit: Commit) -> dict[str, Any]:
    return {
        "version": commit.version,
        "timestamp": commit.timestamp,
        "quads": commit.quads,
        "operations": commit.operations,
        "restored": commit.restored,
        "metadata": commit.metadata,
        "shards": None if commit.shards is None else len(commit.shards),
        "open": commit.readable,
    }


def _version_text(commit: Commit) -> str:
    vacuumed = "" if commit.readable else ", vacuumed"
    restored = "" if commit.restored is None else f", restored from version {commit.restored:,}"
    description = "".join(f", {name}={value}" for name, value in commit.metadata.items())
    return (
        f"version {commit.version:,} of {commit.timestamp}: {commit.quads:,} quads, "
        f"{commit.operations:,} operations{restored}{vacuumed}{description}"
    )


@app.command()
def history(
    root: RootArgument,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Show all versions of a sharded store, the newest first.

    Includes what each version has applied.
    """
    from ..spark import ShardedStore

    # Printed one by one: there may be very many.
    for commit in ShardedStore(_storage(root, storage_option)).history():
        if as_json:
            fields = _version_fields(commit)
            fields["positions"] = [asdict(each) for each in commit.positions]
            fields["applications"] = {
                name: asdict(batch) for name, batch in commit.applications.items()
            }
            console.print_json(fields)
        else:
            print(_version_text(commit))


@app.command()
def restore(
    root: RootArgument,
    version: Annotated[
        int | None, typer.Option("--version", min=0, help="The version to restore.")
    ] = None,
    timestamp: Timestamp = None,
    metadata: Metadata = None,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Commit a new version that equals an earlier one.

    It has the quads, positions in logs and batches of the earlier version. Logs that are given
    again are applied from those positions.
    """
    from ..spark.sharded import restore as restore_

    if version is None and timestamp is None:
        raise WrongUsageError("give --version or --timestamp")
    time = _time(version, timestamp)
    description = _named(metadata, "--metadata")
    done = restore_(_storage(root, storage_option), version, timestamp=time, metadata=description)
    if as_json:
        console.print_json(_version_fields(done))
    else:
        print(_version_text(done))


@app.command()
def reshard(
    root: RootArgument,
    shards: Annotated[int, typer.Argument(metavar="N", min=1, help="The new number of shards.")],
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", min=1, help="Number of parallel processes; by default one per processor."
        ),
    ] = None,
    metadata: Metadata = None,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Change the number of shards of a sharded store.

    This commits one new version with the same quads.
    """
    from ..spark.sharded import reshard as reshard_

    storage = _storage(root, storage_option)
    description = _named(metadata, "--metadata")
    done = reshard_(
        storage, shards, processes=processes or os.cpu_count() or 1, metadata=description
    )
    if as_json:
        console.print_json(_version_fields(done))
    else:
        print(f"{_version_text(done)}, {console.counted(shards, 'shard')}")


@app.command()
def changes(
    root: RootArgument,
    from_version: Annotated[
        int, typer.Option("--from-version", min=0, help="Start after this version.")
    ],
    to_version: Annotated[
        int | None,
        typer.Option("--to-version", min=0, help="The last version; by default the newest."),
    ] = None,
    output: settings.Output = STANDARD,
    to: LogTo = None,
    force: settings.Force = False,
    storage_option: StorageOptions = None,
) -> None:
    """Write the changes between two versions as a log.

    The log has a patch for each version. Applied to a store that equals the first version,
    the log makes it equal to the last one.
    """
    from ..spark import ShardedStore
    from ..spark.sharded.commits import open_log
    from ..spark.sharded.feed import steps, write_changes

    if to_version is not None and to_version < from_version:
        raise WrongUsageError("--to-version must not be before --from-version")
    storage = _storage(root, storage_option)
    target, dst = log_output(output, to, force)
    log = open_log(storage)
    wanted = steps(log, log.find(from_version), log.find(to_version))
    write_changes(log, wanted, ShardedStore(storage).at, dst, target)


@app.command()
def verify(
    root: RootArgument,
    version: Version = None,
    timestamp: Timestamp = None,
    every: Annotated[
        bool, typer.Option("--all", help="Verify all versions that can be opened; each file once.")
    ] = False,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Read every byte and every quad of a sharded store's version.

    Exit code 0: no problems; 1: prints a line for each problem.
    """
    from ..spark import ShardedStore

    time = _time(version, timestamp)
    store = ShardedStore(_storage(root, storage_option), version=version, timestamp=time)
    problems = store.verify(every=every)
    if as_json:
        console.print_json({"root": root, "version": store.version, "problems": problems})
    elif problems:
        print(*problems, sep="\n")
    else:
        checked = console.counted(store.layout.shards, "shard")
        which = "all versions" if every else f"version {store.version:,}"
        print(f"{which}: {checked} checked, no problems")
    if problems:
        raise typer.Exit(1)


@app.command()
def vacuum(
    root: RootArgument,
    keep: Annotated[
        int, typer.Option("--keep", min=1, help="Number of versions to keep, the newest ones.")
    ] = 10,
    grace: Annotated[
        float,
        typer.Option(
            "--grace-hours",
            min=0,
            help="Keep everything that was written or current within this time; must be longer "
            "than any batch takes.",
        ),
    ] = 24,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")
    ] = False,
    metadata: Metadata = None,
    storage_option: StorageOptions = None,
    as_json: settings.AsJson = False,
) -> None:
    """Remove stores of old versions, and remains of failed attempts."""
    from ..spark.sharded import vacuum as vacuum_

    storage = _storage(root, storage_option)
    description = _named(metadata, "--metadata")
    hours = timedelta(hours=grace)
    done = vacuum_(storage, keep=keep, grace=hours, dry_run=dry_run, metadata=description)
    console.print_report(
        as_json,
        {**asdict(done), "dry_run": dry_run},
        {
            "dry run": "nothing was removed" if dry_run else None,
            "versions": f"{len(done.versions):,}",
            "stores": f"{len(done.stores):,}",
            "staged": f"{len(done.staged):,}",
            "freed": console.size_text(done.size),
        },
    )


@app.command()
def copy(
    root: Annotated[
        str, typer.Argument(metavar="ROOT", help="Folder of the store, or URL of one in a bucket.")
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="ROOT2",
            help="Folder or URL of the copy: empty, or with an incomplete copy of this store.",
        ),
    ],
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="The version; by default the newest.")
    ] = None,
    timestamp: Timestamp = None,
    history: Annotated[
        bool, typer.Option("--history", help="Copy all versions, with their numbers.")
    ] = False,
    storage_option: StorageOptions = None,
    target_option: Annotated[
        list[str] | None,
        typer.Option(
            "--target-option",
            metavar="KEY=VALUE",
            help="A setting of the target's bucket, if both are in buckets; can be repeated.",
        ),
    ] = None,
    as_json: settings.AsJson = False,
) -> None:
    """Copy a sharded store to a folder or bucket, and verify the copy.

    Without --history, the copied version becomes version 1.
    """
    from ..spark.sharded import ShardedStore, copy_store
    from ..spark.sharded.storage import is_in_objects, storage_at

    if history and (version is not None or timestamp is not None):
        raise WrongUsageError("give --history without --version and --timestamp")
    time = _time(version, timestamp)
    to_bucket = is_in_objects(target) and not is_in_objects(root)
    given, wanted = _named(storage_option), _named(target_option)
    source = storage_at(root, {} if to_bucket else given)
    if time is not None:
        version = ShardedStore(source, timestamp=time).version
    done = copy_store(
        source,
        storage_at(target, {**given, **wanted} if to_bucket else wanted),
        version=version,
        history=history,
    )
    console.print_report(
        as_json,
        asdict(done),
        {
            "version": f"{done.version:,}",
            "versions": f"{done.versions:,}",
            "stores": f"{done.stores:,}",
            "copied": console.size_text(done.size),
        },
    )

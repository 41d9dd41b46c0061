"""``jelly spark``: sharded stores. Only ``apply --master`` starts Spark."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import click
from click.exceptions import Exit

from . import console, finished
from .options import Group, Parsed, Positive, limits

if TYPE_CHECKING:
    from ..spark.shards import Version

#: Number of listed logs, those that were applied last.
_LISTED: Final = 10


def _setting(text: str) -> tuple[str, str]:
    """A setting of a bucket. Errors do not show its value, which may be a secret."""
    name, is_set, value = text.partition("=")
    if not (name and is_set):
        raise ValueError("KEY=VALUE is needed")
    return name, value


Root: TypeAlias = Annotated[str, Parsed("ROOT")]
StorageOptions: TypeAlias = Annotated[dict[str, str], Parsed("KEY=VALUE", _setting)]

app = Group("spark", "Sharded stores: many Oxigraph stores that act as one.")


@app.register
def apply(
    logs: list[str],
    *,
    root: Annotated[str, Parsed("DIR")],
    shards: Positive | None = None,
    shard_by: Literal["subject", "graph"] | None = None,
    master: Annotated[str | None, Parsed("URL")] = None,
    check_prev: bool = True,
    storage_option: StorageOptions = {},  # noqa: B006
    json: bool = False,
) -> None:
    """Apply the files of a log to a sharded store, as one version.

    Patches with ids are applied once: repeating the command does nothing, or applies what was added
    to the log. The store is created if it does not exist.

    $ jelly spark apply change.jellyp --root shards --shards 4

    :param shards: Number of shards of a new store; 16 by default.
    :param shard_by: The term that determines the shard; the subject by default.
    :param master: Spark's master URL, such as local[*]; by default, this process does the work
        without Spark.
    :param check_prev: Require each patch to follow the previous one.
    """
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
                shard_by=shard_by,
                check_prev=check_prev,
                storage_options=storage_option,
                limits=limits(),
            )
    finally:
        if spark is not None:
            spark.stop()
    console.report(done, json)
    if done.unnamed:
        count = console.counted(done.unnamed, "patch")
        console.note(f"{count} without id: applied again if given again")


def _session(master: str) -> Any:
    """Start Spark."""
    from ..spark import session

    # Py4J logs interrupts there.
    logging.getLogger().addFilter(lambda record: "KeyboardInterrupt" not in record.getMessage())
    # Java would print an error of its own if the command ended while it starts.
    return finished(lambda: session(master, config={"spark.log.level": "FATAL"}))


@app.register
def status(root: Root, *, storage_option: StorageOptions = {}, json: bool = False) -> None:  # noqa: B006
    """Show a sharded store: its versions, logs and batches.

    $ jelly spark status shards
    """
    from ..spark import ShardedStore

    store = ShardedStore(root, storage_options=storage_option)
    newest = store.content
    logs = newest.logs if json else newest.logs[: -_LISTED - 1 : -1]
    console.report(
        {
            "root": store.root,
            "shards": len(newest.shards),
            "shard_by": newest.shard_by,
            "largest_shard": max(shard.quads for shard in newest.shards),
            "versions": list(map(_fields, store.versions())),
            "logs": logs,
            "older_logs": len(newest.logs) - len(logs),
            "batches": newest.batches,
            "namespaces": newest.namespaces,
        },
        json,
    )


def _fields(version: Version) -> dict[str, Any]:
    return {
        "version": version.number,
        "time": version.time,
        "quads": version.quads,
        "restored": version.restored,
    }


@app.register
def restore(
    root: Root,
    *,
    version: Positive,
    storage_option: StorageOptions = {},  # noqa: B006
    json: bool = False,
) -> None:
    """Create a version with the content of an earlier one.

    Logs that are given again are applied from their positions in that version.

    $ jelly spark restore shards --version 1

    :param version: The version to restore.
    """
    from ..spark.shards import restore as restore_

    console.line(_fields(restore_(root, version, storage_options=storage_option)), json)


@app.register
def verify(
    root: Root,
    *,
    version: Positive | None = None,
    storage_option: StorageOptions = {},  # noqa: B006
    json: bool = False,
) -> None:
    """Read every quad of a version, and compare the counts.

    Exit code 0: no problems; 1: problems.

    $ jelly spark verify shards

    :param version: The version; by default the newest.
    """
    from ..spark.shards import verify as verify_

    problems = verify_(root, version, storage_options=storage_option)
    console.report({"root": root, "valid": not problems, "problems": problems}, json)
    if problems:
        raise Exit(1)


@app.register
def vacuum(
    root: Root,
    *,
    keep: Positive = 10,
    grace_hours: Annotated[float, click.FloatRange(min=0)] = 24,
    dry_run: bool = False,
    storage_option: StorageOptions = {},  # noqa: B006
    json: bool = False,
) -> None:
    """Remove old versions, and what remains of failed attempts.

    $ jelly spark vacuum shards --keep 2

    :param keep: Number of versions to keep, the newest ones.
    :param grace_hours: Keep everything that was written or current within this time; must be longer
        than any reader keeps a version open.
    :param dry_run: Show what would be removed, and remove nothing.
    """
    from ..spark.shards import vacuum as vacuum_

    done = vacuum_(
        root,
        keep=keep,
        grace=timedelta(hours=grace_hours),
        dry_run=dry_run,
        storage_options=storage_option,
    )
    console.report(done, json, dry_run=dry_run)

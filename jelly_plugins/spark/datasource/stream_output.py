"""A folder that receives the batches of a stream, each as a folder of its own, exactly once.

A batch's folder is named after the batch number and the query's id, which the checkpoint keeps over
restarts. If Spark repeats a batch, because the driver was lost after the batch and before Spark
recorded it, its folder exists already and the batch is skipped.

Files are first written to a hidden folder. When all are complete, it is renamed on a local file
system: the batch appears atomically. On other file systems, files are moved one by one: a batch's
folder is complete once it has ``_SUCCESS``, which every complete batch has, and an incomplete one
is replaced when Spark repeats the batch. Does not import Spark.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from .output import SUCCESS, Output, named


@dataclass(frozen=True, slots=True)
class StreamOutput:
    """One batch of a stream.

    :ivar folder: path or URL of the folder that receives the batches' folders.
    :ivar query: id of the query, which is the same for as long as its checkpoint exists.
    :ivar batch: number of the batch.
    """

    folder: str
    query: str
    batch: int
    storage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> Output:
        """The output of the tasks; the same for every attempt at the batch."""
        return Output(self.folder, storage=self.storage, job=f"{self.query}-{self.batch}")

    def publish(self, names: Sequence[str]) -> None:
        """Make the named files visible, unless the batch exists; remove all other files of it.

        :raises SourceError: that failed.
        """
        system, folder = self.output.open()
        staging = f"{folder}/{self.output.staging}"
        target = f"{folder}/batch-{self.batch}-{self.query}"
        with named(self.folder):
            if names and not system.exists(f"{target}/{SUCCESS}"):
                whole = f"{staging}/whole"
                for place in (whole, target):
                    if system.exists(place):
                        system.rm(place, recursive=True)
                system.makedirs(whole)
                if isinstance(system, LocalFileSystem):
                    for name in names:
                        system.mv(f"{staging}/{name}", f"{whole}/{name}")
                    system.touch(f"{whole}/{SUCCESS}")
                    os.rename(whole, target)
                else:
                    system.makedirs(target, exist_ok=True)
                    for name in names:
                        system.mv(f"{staging}/{name}", f"{target}/{name}")
                    system.touch(f"{target}/{SUCCESS}")
            with suppress(Exception):
                # The batch is complete. Files that remain here are hidden, and no reader opens
                # them.
                system.rm(staging, recursive=True)

    def discard(self) -> None:
        """Remove the files of the batch that are not visible."""
        self.output.discard()

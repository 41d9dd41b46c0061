"""A folder that gets the files of a stream's batches: each batch's as a folder of its own, once.

A batch's folder is named by its number and the query, which keeps its name over restarts, as it is
in its checkpoint. So a batch that is given again, because a driver was lost between the batch and
the note of it, finds itself there, and is passed over.

Files gather in a hidden folder. When all of them are there, on a local file system, it is renamed:
the batch is there as a whole or not at all. Elsewhere files move one by one; there a batch's folder
is whole once it has ``_SUCCESS``, as all have, and what is there of one that is not is replaced
when the batch comes again. Knows nothing of Spark.
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
    """The batch of a stream.

    :ivar folder: path or URL that gets the batches' folders.
    :ivar query: what names the query, for as long as its checkpoint is there.
    :ivar batch: number of the batch.
    """

    folder: str
    query: str
    batch: int
    storage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> Output:
        """Where tasks write; the same for every attempt at the batch."""
        return Output(self.folder, storage=self.storage, job=f"{self.query}-{self.batch}")

    def publish(self, names: Sequence[str]) -> None:
        """Make the files of these names visible, unless the batch is there; throw away what else
        was written.

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
                # All is done; what stays here is hidden, and nobody reads it.
                system.rm(staging, recursive=True)

    def discard(self) -> None:
        """Throw away what was written for the batch and is not visible."""
        self.output.discard()

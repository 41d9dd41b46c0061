"""The format ``jelly-patch``: Jelly-Patch and RDF Patch files, with a row for each operation.

Written files have one patch each, with one transaction of additions and deletions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO
from uuid import NAMESPACE_OID, uuid5

import pyarrow as pa
from pyspark.sql.types import StructType

from ...codec import Iri, PatchEncoder
from ...codec.patch.operations import BEGIN, COMMIT, END, header
from ...errors import JellyError
from ...io.sinks import compressed
from ...patch.columns import PatchColumnReader
from ...patch.writer import PatchSerializer
from .formats import FileSplit, Format, complete
from .options import Settings
from .patch_rows import CHANGES, KIND, OperationRows, operations, patch_options
from .schema import check_written


class Operations(Format):
    """The format ``jelly-patch``."""

    name = "jelly-patch"
    suffix = ".jellyp"

    def read(
        self, file: BinaryIO, split: FileSplit, settings: Settings, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        with PatchColumnReader(file) as batches:
            for found in OperationRows(settings["headers"]).batches(batches):
                yield complete(found, split.path, schema)

    def check(self, schema: StructType, settings: Settings) -> None:
        check_written(schema, (KIND,))
        PatchEncoder(patch_options(settings))

    def writer(
        self,
        file: BinaryIO,
        name: str,
        schema: pa.Schema,  # noqa: ARG002
        settings: Settings,
    ) -> OperationWriter:
        # The same id for each attempt at a task, so that a replay skips a repeated patch.
        return OperationWriter(file, f"urn:uuid:{uuid5(NAMESPACE_OID, name)}", settings)


class OperationWriter:
    """Writes one patch to an open file, see :meth:`.Format.writer`.

    :param id: id of the patch.
    """

    def __init__(self, file: BinaryIO, id: str, settings: Settings) -> None:  # noqa: A002
        self._stack = ExitStack()
        self._out = self._stack.enter_context(compressed(file, settings["compression"]))
        self._serializer = PatchSerializer(options=patch_options(settings))
        self._out.write(self._serializer.add([header("id", Iri(id)), BEGIN]))
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        rows = list(operations(batch, CHANGES, self.rows))
        try:
            self._out.write(self._serializer.add(rows))
        except JellyError as error:
            # Those of the output.
            error.frame = error.row = None
            raise
        self.rows += batch.num_rows

    def finish(self) -> None:
        self._out.write(self._serializer.add([COMMIT, END]))
        self._out.write(self._serializer.finish())
        self._stack.close()

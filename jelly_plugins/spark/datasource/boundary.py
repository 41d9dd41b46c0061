"""The position up to which a growing patch file is complete. Does not import Spark."""

from __future__ import annotations

from ...codec import OperationKind, PatchStreamType
from ...codec.text.transcoding import TextFactory
from ...io.sources import Source
from ...patch import PatchReader


def boundary(src: Source) -> int:
    """Count the complete rows of a growing file, including headers and ends of patches.

    Only complete patches count. If nothing marks the ends of patches (a stream of type FLAT, and
    text), complete transactions count, and rows outside of transactions.

    :raises JellyError: the file is corrupt, or compressed.

    >>> boundary(b"TX . TC .\\nTX .\\nA <urn:s>")
    2
    """
    complete = count = 0
    inside = False
    with PatchReader(src, factory=TextFactory(), wait=not_waiting) as operations:
        for count, (kind, _) in enumerate(operations, 1):
            if kind is OperationKind.BEGIN:
                inside = True
            elif kind in (OperationKind.COMMIT, OperationKind.ABORT):
                inside = False
            if kind is OperationKind.END or (not inside and not _marks_ends(operations)):
                complete = count
    return complete


def _marks_ends(reader: PatchReader) -> bool:
    options = reader.options
    return options is not None and options.stream_type is not PatchStreamType.FLAT


def not_waiting() -> bool:
    """Do not wait for more data of a file."""
    return False

"""Where a growing patch file may be read up to. Knows nothing of Spark."""

from __future__ import annotations

from ...codec import OperationKind, PatchStreamType
from ...codec.text.transcoding import TextFactory
from ...io.sources import Source
from ...patch import PatchReader


def boundary(src: Source) -> int:
    """How many rows of a growing file are complete, headers and ends of patches included.

    Patches are given out whole. Where nothing says that a patch has ended (a stream of type FLAT,
    and text), transactions are, and what stands outside of them.

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
    """Whether to wait for more of a file."""
    return False

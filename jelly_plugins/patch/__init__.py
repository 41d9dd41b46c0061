"""Patches: changes to RDF graphs and datasets, as RDF Patch has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lazy

if TYPE_CHECKING:
    from .difference import diff
    from .formats import PatchFormat
    from .logs import Problem, Report, check, compact, invert
    from .model import (
        ABORT,
        BEGIN,
        COMMIT,
        END,
        Header,
        Namespace,
        Operation,
        OperationKind,
        Patch,
        add,
        add_namespace,
        delete,
        delete_namespace,
        group,
        header,
    )
    from .reader import PatchReader, ReadOptions, read_patches
    from .recording import RecordOptions, RecordSettings
    from .replay.replay import Position, Replayed
    from .replay.transactions import ReplayOptions, ReplaySettings
    from .undoing import redo, undo
    from .writer import WriteOptions, write_patches, write_rows

__all__ = [
    "ABORT",
    "BEGIN",
    "COMMIT",
    "END",
    "Header",
    "Namespace",
    "Operation",
    "OperationKind",
    "Patch",
    "PatchFormat",
    "PatchReader",
    "Position",
    "Problem",
    "ReadOptions",
    "RecordOptions",
    "RecordSettings",
    "ReplayOptions",
    "ReplaySettings",
    "Replayed",
    "Report",
    "WriteOptions",
    "add",
    "add_namespace",
    "check",
    "compact",
    "delete",
    "delete_namespace",
    "diff",
    "group",
    "header",
    "invert",
    "read_patches",
    "redo",
    "undo",
    "write_patches",
    "write_rows",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.attributes(
        __name__,
        __all__,
        (
            "model",
            "formats",
            "reader",
            "writer",
            "replay.replay",
            "replay.transactions",
            "recording",
            "logs",
            "difference",
            "undoing",
        ),
    )

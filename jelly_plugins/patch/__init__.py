"""Patches: changes to RDF graphs and datasets, as RDF Patch has them."""

from __future__ import annotations

from .formats import PatchFormat
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
from .reader import PatchReader, read_patches
from .writer import PatchSerializer, infer_options, write_patches, write_rows

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
    "PatchSerializer",
    "add",
    "add_namespace",
    "delete",
    "delete_namespace",
    "group",
    "header",
    "infer_options",
    "read_patches",
    "write_patches",
    "write_rows",
]

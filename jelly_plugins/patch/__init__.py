"""Patches: changes to RDF graphs and datasets, as RDF Patch has them."""

from __future__ import annotations

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
    "add",
    "add_namespace",
    "delete",
    "delete_namespace",
    "group",
    "header",
]

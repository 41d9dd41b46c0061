"""Storages of roots: their interface, and the storage of a given root.

``interface`` defines what a storage does, including the operation that decides between concurrent
writers. ``local`` implements it with folders of a file system, ``objects`` with object stores.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from ....errors import OptionsError
from ..errors import without_secrets
from .files import LIST
from .interface import (
    STAGING,
    AnyRoot,
    Attempt,
    Found,
    MakingStore,
    OpenStore,
    StagedExtent,
    Storage,
)
from .local import LocalStorage, local_path

__all__ = [
    "LIST",
    "STAGING",
    "AnyRoot",
    "Attempt",
    "Found",
    "MakingStore",
    "OpenStore",
    "StagedExtent",
    "Storage",
    "is_in_objects",
    "storage_at",
]

#: URLs of object stores; ``pathlib`` replaces two slashes by one.
_OBJECTS: Final = re.compile(r"(?i)(s3a?|gs|az|adl|azure|abfss?|memory):/+(?=[^/])")


def is_in_objects(root: AnyRoot) -> bool:
    """Return whether a root is in an object store."""
    return not isinstance(root, Storage) and _OBJECTS.match(os.fsdecode(root)) is not None


def storage_at(root: AnyRoot, options: Mapping[str, Any] | None = None) -> Storage:
    """Return the storage of a root, without accessing it.

    :param root: a path, a URL, or a storage, which is returned.
    :param options: settings and credentials of an object store, by name.
    :raises RootError: the path or URL is not a valid root.
    :raises OptionsError: there are settings, but the root is a folder.
    :raises MissingExtraError: the root is in an object store, and the extra is not installed.
    """
    if options is not None and not (
        isinstance(options, Mapping) and all(isinstance(name, str) for name in options)
    ):
        raise TypeError("storage_options must be a dict of settings by name")
    if isinstance(root, Storage):
        return root
    text = os.fsdecode(root)
    if (url := _OBJECTS.match(text)) is not None:
        # Imported only for object stores.
        from .objects import ObjectStorage

        return ObjectStorage(f"{url[1].lower()}://{text[url.end() :]}", options)
    if options:
        message = "settings are only for roots in object stores: remove them"
        raise OptionsError(message, source=without_secrets(text))
    return LocalStorage(local_path(root))

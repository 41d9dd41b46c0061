"""Where roots of sharded stores lie: what is asked of a storage, and which one a root has.

``interface`` says what a storage does, and has the one step that decides who was first. ``local``
does it with folders of a file system, ``objects`` with object stores.
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
    Piece,
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
    "Piece",
    "Storage",
    "is_in_objects",
    "storage_at",
]

#: URLs of object stores; ``pathlib`` makes one slash of two.
_OBJECTS: Final = re.compile(r"(?i)(s3a?|gs|az|adl|azure|abfss?|memory):/+(?=[^/])")


def is_in_objects(root: AnyRoot) -> bool:
    """Whether a root is in an object store."""
    return not isinstance(root, Storage) and _OBJECTS.match(os.fsdecode(root)) is not None


def storage_at(root: AnyRoot, options: Mapping[str, Any] | None = None) -> Storage:
    """The storage of a root; nothing is looked at yet.

    :param root: a path, or a URL, or a storage, which is returned.
    :param options: settings and credentials of an object store, by name.
    :raises RootError: it is no place where a root can be.
    :raises OptionsError: there are settings, and it is a folder.
    :raises MissingExtraError: it is in an object store, and what these need is not installed.
    """
    if options is not None and not (
        isinstance(options, Mapping) and all(isinstance(name, str) for name in options)
    ):
        raise TypeError("storage_options is not a dict of settings by name")
    if isinstance(root, Storage):
        return root
    text = os.fsdecode(root)
    if (url := _OBJECTS.match(text)) is not None:
        # Folders need none of this.
        from .objects import ObjectStorage

        return ObjectStorage(f"{url[1].lower()}://{text[url.end() :]}", options)
    if options:
        message = "storage_options are for roots in object stores"
        raise OptionsError(message, source=without_secrets(text))
    return LocalStorage(local_path(root))

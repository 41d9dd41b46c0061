"""From what a caller says of a root to the storage that has it."""

from __future__ import annotations

from .interface import AnyRoot, Storage
from .local import LocalStorage, local_path


def storage_at(root: AnyRoot) -> Storage:
    """The storage of a root; nothing is looked at yet.

    :param root: a path, or a URL, or a storage, which is returned.
    :raises RootError: it is no place where a root can be.
    """
    if isinstance(root, Storage):
        return root
    return LocalStorage(local_path(root))

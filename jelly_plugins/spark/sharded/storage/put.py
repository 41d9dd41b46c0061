"""The one step that decides: a file that is written if there is none, whatever is said of it.

Storages report as failed what they have done, and clients try again what was done already: they
then find their own file in the place. So it is the bytes that decide. A commit has a random number
in it; no other writer's has the same bytes.
"""

from __future__ import annotations

from typing import Final

from ....errors import JellyError
from ..errors import RootError
from .interface import Storage, UncertainError

#: How often a file is written that is not there afterwards.
TRIES: Final = 3


def put_if_absent(storage: Storage, name: str, data: bytes) -> bool:
    """Write a file that is not there yet; it appears with all of its bytes, and stays.

    :return: whether these bytes are there now; if not, somebody else's are.
    :raises RootError: it cannot be written, or, which is said, it is not known whether it was.
    """
    problem: Exception | None = None
    for _ in range(TRIES):
        try:
            storage.create(name, data)
            return True
        except FileExistsError:
            pass
        except UncertainError as error:
            problem = error.problem
        try:
            return storage.read(name) == data
        except FileNotFoundError:
            continue
        except JellyError as error:
            if problem is not None:
                error.message = f"it is not known whether this was written: {error.message}"
            raise
    raise problem or RootError("keeps appearing and disappearing", source=storage.place(name))


def check_exclusive(storage: Storage, name: str) -> None:
    """See whether a storage leaves a file that is there, which is put again with the bytes it has.

    :raises RootError: it does not; then the file is removed, so that it is asked again.
    """
    try:
        storage.create(name, storage.read(name))
    except (FileExistsError, UncertainError):
        return
    storage.remove([name])
    raise RootError(
        "this storage writes over what is there, though it is told not to (If-None-Match): two "
        "writers would overwrite each other's versions",
        source=storage.name,
    )

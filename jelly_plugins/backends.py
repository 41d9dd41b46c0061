"""The backends that are installed: what each holds, and how to reach its terms and stores.

A package adds one with an entry point in the group ``jelly_plugins.backends`` that names an object
with the attributes of :class:`Backend`; ours are there the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from .codec import Describe, TermFactory
from .errors import MissingExtraError, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "jelly_plugins.backends"

#: How blank node labels are handled: new nodes for each reading, or unchanged labels.
BlankNodes = Literal["fresh", "keep"]


class Backend(Protocol):
    """An RDF library whose terms and stores Jelly is read into and written from."""

    @property
    def name(self) -> str:
        """Its name, the same as that of its entry point."""
        ...

    @property
    def describe(self) -> Describe:
        """Takes the backend's terms apart for an encoder."""
        ...

    def owns(self, store: object) -> bool:
        """Whether an object is a graph, dataset or store of this backend."""
        ...

    def factory(self, *, blank_nodes: BlankNodes = "fresh") -> TermFactory[Any]:
        """A factory of the backend's terms, for one reading.

        It raises a TermError for a term that the backend cannot hold, where the term occurs:
        options may declare features (``rdf_star``, ``generalized_statements``) that a stream never
        uses.
        """
        ...

    def new_store(self) -> Any:
        """An empty store in memory that :meth:`load` takes, for quads."""
        ...

    @property
    def load(self) -> Callable[..., Any]:
        """Reads a source into a store, Jelly by default, and returns the number of statements; None
        if they were not counted."""
        ...

    @property
    def dump(self) -> Callable[..., int]:
        """Writes a store as Jelly-RDF, and returns the number of statements."""
        ...


@cache
def _entries() -> dict[str, EntryPoint]:
    """The backends' entry points by name, read once in a process: that takes milliseconds, since
    it opens the metadata of all installed packages."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in reversed(tuple(entry_points(group=GROUP)))}


def backend_names() -> list[str]:
    """Names of the backends that installed packages declare."""
    return sorted(_entries())


def get_backend(name: str) -> Backend:
    """The backend of a name.

    :raises ValueError: no installed package declares it.
    """
    entry = _entries().get(name)
    if entry is None:
        raise ValueError(f"{shown(name)} is not one of the backends {', '.join(backend_names())}")
    try:
        backend: Backend = entry.load()
    except ImportError as error:
        raise MissingExtraError.of(f"backend {name} is not installed", name) from error
    return backend


def find_owner(store: object) -> Backend | None:
    """The backend of a graph, dataset or store; None if no backend owns it."""
    for name in backend_names():
        try:
            backend = get_backend(name)
        except MissingExtraError:
            # Without the library there is nothing of it.
            continue
        if backend.owns(store):
            return backend
    return None


def owner_of(store: object) -> Backend:
    """The backend of a graph, dataset or store."""
    backend = find_owner(store)
    if backend is None:
        raise TypeError(f"no graph, dataset or store of a backend: {store!r}")
    return backend

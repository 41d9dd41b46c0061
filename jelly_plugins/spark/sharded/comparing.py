"""What two versions of a sharded store differ in, in memory that does not grow with either.

Two stores of Oxigraph give their quads in the same order, which depends on the quads alone. So two
shards are read side by side; where they differ, one quad is looked for in the other store, which
says on which side it is too many. Only speed depends on that order: whatever is said to differ was
looked for. A shard that has the same store in both versions is not opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Protocol, Self, TypeAlias

from pyoxigraph import Quad

from .commits import Commit
from .layout import Root

#: A quad, and whether it is new.
Difference: TypeAlias = tuple[bool, Quad]


class OpenVersion(Protocol):
    """A version of a sharded store, as :class:`.store.ShardedStore` opens it."""

    @property
    def commit(self) -> Commit:
        """What was committed."""
        ...

    @property
    def layout(self) -> Root:
        """How its quads are distributed."""
        ...

    def at(self, version: int, /) -> Self:
        """The store at another version."""
        ...

    def __iter__(self) -> Iterator[Quad]: ...

    def __contains__(self, quad: Quad, /) -> bool: ...

    def quads_of_shard(self, number: int, /) -> Iterator[Quad]:
        """The quads of one shard."""
        ...


def differences(old: OpenVersion, new: OpenVersion) -> Iterator[Difference]:
    """The quads that one version has and the other has not, each once.

    :raises RootError: a store cannot be read.
    """
    if old.layout != new.layout:
        yield from _looked_for(iter(old), old, iter(new), new)
        return
    assert old.commit.shards is not None
    assert new.commit.shards is not None
    for number, (before, after) in enumerate(
        zip(old.commit.shards, new.commit.shards, strict=True)
    ):
        if before.store != after.store:
            yield from _side_by_side(number, old, new)


def _side_by_side(number: int, old: OpenVersion, new: OpenVersion) -> Iterator[Difference]:
    """What one shard differs in."""
    olds, news = old.quads_of_shard(number), new.quads_of_shard(number)
    before, after = next(olds, None), next(news, None)
    while before is not None and after is not None:
        if before == after:
            before, after = next(olds, None), next(news, None)
        elif before not in new:
            yield False, before
            before = next(olds, None)
        elif after not in old:
            yield True, after
            after = next(news, None)
        else:
            # Another order, after all.
            break
    yield from _looked_for(
        chain([before] if before is not None else [], olds),
        old,
        chain([after] if after is not None else [], news),
        new,
    )


def _looked_for(
    olds: Iterator[Quad], old: OpenVersion, news: Iterator[Quad], new: OpenVersion
) -> Iterator[Difference]:
    """What quads of one side the other side has not, whatever their order is."""
    yield from ((False, quad) for quad in olds if quad not in new)
    yield from ((True, quad) for quad in news if quad not in old)

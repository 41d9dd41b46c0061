"""What a patch with an id says, in few bytes: to tell it from another one that has the same id.

The digest is that of the operations as a kind of store takes them. So the same patch has the same
content as text and as Jelly-Patch, of triples and of quads; what a store cannot tell apart, it
cannot either; and digests of different kinds are not compared.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple, Protocol

#: Hexadecimal digits that are kept of a digest.
_DIGITS: Final = 32


class Said(Protocol):
    """The changes of one transaction."""

    @property
    def operations(self) -> int:
        """How many they are."""
        ...

    @property
    def form(self) -> str:
        """What of them the digest is made of, in letters and digits."""
        ...

    def content(self) -> bytes | None:
        """A digest of them; None if it is not known."""
        ...


class Content(NamedTuple):
    """What the transactions of a patch say, those that were read of it.

    :ivar operations: number of operations; None if nothing is known.
    :ivar digest: of all of them; empty if there are none, and None if it is not known.
    :ivar form: what of them the digest is made of.
    """

    operations: int | None = 0
    digest: bytes | None = b""
    form: str = ""

    def plus(self, changes: Said) -> Content:
        """The content with one more transaction."""
        operations, before, _ = self
        if operations is None:
            return self
        digest = changes.content()
        if before is None or digest is None:
            digest = None
        elif before:
            digest = sha256(before + digest).digest()
        return Content(operations + changes.operations, digest, changes.form)

    def text(self) -> str:
        """As positions have it: number of operations, a colon, and, if that is known, the form of
        the digest, a hyphen and the digest; empty if nothing is known."""
        operations, digest, form = self
        if operations is None:
            return ""
        return f"{operations}:{f'{form}-{digest.hex()[:_DIGITS]}' if digest else ''}"

    def known_as(self, text: str) -> Content:
        """The content, but nothing of it that a text does not know."""
        if not text:
            return UNKNOWN
        return self if text.partition(":")[2] else self._replace(digest=None)


#: That of a patch of which nothing is known.
UNKNOWN: Final = Content(None, None)


def differ(one: str, other: str) -> bool:
    """Whether two texts are those of contents that are not the same, as far as they are known.

    >>> differ("1:x-ab", "1:x-ab"), differ("1:x-ab", "1:x-cd"), differ("1:x-ab", "2:")
    (False, True, True)
    >>> differ("1:x-ab", "1:"), differ("1:x-ab", "1:y-cd"), differ("1:x-ab", "")
    (False, False, False)
    """
    if one == other or not one or not other:
        return False
    (operations, _, digest), (others, _, known) = one.partition(":"), other.partition(":")
    return operations != others or digest.partition("-")[0] == known.partition("-")[0] != ""

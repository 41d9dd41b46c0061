"""What a patch with an id says, in few bytes: to tell it from another one that has the same id.

The digest is that of the operations as a kind of store takes them. So the same patch has the same
content as text and as Jelly-Patch, of triples and of quads; what a store cannot tell apart, it
cannot either; and digests of different kinds are not compared.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Protocol

#: Hexadecimal digits that are kept of a digest.
_DIGITS: Final = 32
#: Operations of a transaction that is digested at once.
MANY: Final = 1000
#: Characters of one.
_LONG: Final = 1 << 20
#: Transactions that are kept until they are digested.
_MOST: Final = 100


class Said(Protocol):
    """The changes of one transaction."""

    @property
    def operations(self) -> int:
        """How many they are."""
        ...

    @property
    def characters(self) -> int:
        """How many characters are held of them, about."""
        ...

    @property
    def form(self) -> str:
        """What of them the digest is made of, in letters and digits."""
        ...

    def content(self) -> bytes | None:
        """A digest of them; None if it is not known."""
        ...


class Content:
    """What the transactions of a patch say, those that were read of it. The digest is computed
    when it is needed.

    :param operations: number of operations; None if nothing is known.
    :param digest: of all of them; empty if there are none, and None if it is not known.
    :param form: what of them the digest is made of.
    :param said: what is not in the digest yet, but in the number.
    """

    __slots__ = ("_digest", "_form", "_operations", "_said")

    def __init__(
        self,
        operations: int | None,
        digest: bytes | None,
        form: str = "",
        said: tuple[Said, ...] = (),
    ) -> None:
        self._operations = operations
        self._form = form
        #: The digest, and what is not in it yet.
        self._digest = digest
        self._said = said

    def plus(self, changes: Said) -> Content:
        """The content with one more transaction. Unless it has more than :data:`MANY` operations,
        its changes have to stay as they are."""
        if self._operations is None:
            return self
        added = changes.operations
        content = Content(
            self._operations + added, self._digest, changes.form, (*self._said, changes)
        )
        if added > MANY or len(self._said) >= _MOST or changes.characters > _LONG:
            content._work_out()
        return content

    def _work_out(self) -> bytes | None:
        for changes in self._said:
            digest, known = changes.content(), self._digest
            if known is None or digest is None:
                self._digest = None
            else:
                self._digest = sha256(known + digest).digest() if known else digest
        self._said = ()
        return self._digest

    def text(self) -> str:
        """As positions have it: number of operations, a colon, and, if that is known, the form of
        the digest, a hyphen and the digest; empty if nothing is known."""
        if self._operations is None:
            return ""
        digest = self._work_out()
        known = f"{self._form}-{digest.hex()[:_DIGITS]}" if digest else ""
        return f"{self._operations}:{known}"

    def known_as(self, text: str) -> Content:
        """The content, but nothing of it that a text does not know."""
        if not text:
            return UNKNOWN
        if text.partition(":")[2]:
            return self
        return Content(self._operations, None, self._form)


#: That of a patch that says nothing.
NOTHING: Final = Content(0, b"")
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

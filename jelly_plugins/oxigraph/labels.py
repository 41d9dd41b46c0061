"""Blank node labels: from any string that Jelly allows to one that Oxigraph takes.

Both mappings are functions of the label alone (and of a secret, for fresh nodes), so that reading a
stream of any length needs no table of the labels seen.
"""

from __future__ import annotations

from hashlib import blake2b
from secrets import token_bytes
from typing import Final

from pyoxigraph import BlankNode

#: How the label of a kept blank node begins where its own is none for Oxigraph.
ESCAPED: Final = "jelly-label-"


def kept(label: str) -> BlankNode:
    """The blank node of a label that is kept.

    A label stays as it is if Oxigraph takes it and can write it as N-Quads. All others, and those
    that look as if they had been mapped, become ``jelly-label-`` and the hexadecimal digits of
    their UTF-8: different labels stay different, and the same label is always the same node.

    >>> kept("b0").value, kept("a b").value, kept("").value
    ('b0', 'jelly-label-612062', 'jelly-label-')
    """
    # Oxigraph's constructor takes colons, its own N-Quads reader does not.
    if ":" not in label and not label.startswith(ESCAPED):
        try:
            return BlankNode(label)
        except ValueError:
            pass
    return BlankNode(ESCAPED + label.encode().hex())


class Fresh:
    """Makes new blank nodes, the same one for the same text.

    Their labels are hashes of 124 bits under a random key: as unlikely to meet others as Oxigraph's
    own, which are random numbers of that size, and stored in as little room.

    :param key: up to 64 bytes; by default a random one. Equal keys give equal nodes.

    >>> fresh = Fresh()
    >>> fresh("b0") == fresh("b0"), fresh("b0") == fresh("b1"), fresh("b0") == Fresh()("b0")
    (True, False, False)
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._hash = blake2b(digest_size=16, key=token_bytes(32) if key is None else key)

    def __call__(self, text: str) -> BlankNode:
        digest = self._hash.copy()
        digest.update(text.encode())
        # A letter first: RDF/XML has no labels that begin with a digit.
        return BlankNode("b" + digest.hexdigest()[1:])

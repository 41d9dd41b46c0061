"""Blank node labels: from any string that Jelly allows to one that Oxigraph takes.

Both mappings are functions of the label alone (and of a secret, for relabelled nodes), so that
reading a stream of any length needs no table of the labels seen.
"""

from __future__ import annotations

from hashlib import blake2b
from secrets import token_bytes

from pyoxigraph import BlankNode

from ..codec.text.ntriples import written_label


def kept(label: str) -> BlankNode:
    """The blank node of a label that is kept.

    It has its label in N-Quads, see
    :func:`~jelly_plugins.codec.text.ntriples.written_label`; Oxigraph takes all of those. Different
    labels stay different, the same label is always the same node, here and in text, and what comes
    out of a store has the label that went in (``terms.describe`` has ``ntriples.read_label``).

    >>> kept("b0").value, kept("a b").value, kept("").value
    ('b0', 'label-612062', 'label-')
    """
    return BlankNode(written_label(label))


class Fresh:
    """Makes new blank nodes, the same one for the same text.

    Their labels are hashes of 124 bits under a random key: as unlikely to equal others as
    Oxigraph's own, which are random numbers of that size, and stored in as few bytes.

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

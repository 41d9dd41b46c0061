"""Blank node labels: from any string that Jelly allows to one that rdflib can have everywhere.

An empty label is no label for rdflib: a graph that is named by such a node gets another name each
time it is made. So another label stands for it, and is undone on the way out.
"""

from __future__ import annotations

from typing import Final

from rdflib.term import BNode

from ..codec.text.ntriples import STAND_IN, StandIns

#: What stands for the empty label, and for labels that look so.
LABELS: Final = StandIns(bool)


def kept(label: str) -> BNode:
    """The blank node of a label that is kept.

    >>> kept("b0"), kept("a b"), kept("")
    (rdflib.term.BNode('b0'), rdflib.term.BNode('a b'), rdflib.term.BNode('label-'))
    """
    if not isinstance(label, str):
        raise TypeError(f"a label is a str, not {type(label).__name__}")
    if not label or label.startswith(STAND_IN):
        label = LABELS.write(label)
    return BNode(label)

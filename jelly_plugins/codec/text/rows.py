"""Statements as tuples of text, where a factory makes them so."""

from __future__ import annotations


class PlainRows:
    """Marks a :class:`~jelly_plugins.codec.TermFactory` that gives terms as their N-Triples and
    statements as tuples of four, so that a decoder need not ask it for each of them.

    Of all but long terms (see ``transcoding.LONG_TERM``) such a factory gives

    - an absolute IRI as it is, in angle brackets;
    - a literal in the one text that N-Triples has for it in its canonical form, where a store keeps
      it as it is, see ``forms``. A language tag without capital letters stays as it is too;
    - a statement whose terms stand where RDF has their kinds as the terms themselves, with
      ``default_graph`` for the graph of a triple. One of a stream of quads it may refuse where it
      is in another graph than the default one, unless it has ``named_graphs``.

    The compiled kernel makes these by itself where it is sure of them, and leaves all others to the
    factory. The reference asks the factory for all.
    """

    named_graphs: bool = True

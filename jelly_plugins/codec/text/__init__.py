"""N-Triples and N-Quads: their grammar, conversion to and from Jelly, and columns of terms."""

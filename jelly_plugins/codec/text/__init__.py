"""N-Triples and N-Quads: their grammar, to Jelly and back, and as columns."""

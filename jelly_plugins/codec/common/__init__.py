"""What Jelly-RDF and Jelly-Patch share: the wire, lookups, terms and rows, limits."""

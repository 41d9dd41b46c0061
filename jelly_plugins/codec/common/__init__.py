"""Parts shared by Jelly-RDF and Jelly-Patch: wire format, lookups, terms, rows, limits."""

"""rdflib's stores in memory by their indices, where they are what is known here."""

"""RDF Patch text: grammar, terms, reader and writer."""

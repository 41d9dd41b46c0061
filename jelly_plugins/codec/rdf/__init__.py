"""Jelly-RDF: options, the order of rows, decoder and encoder, restart points."""

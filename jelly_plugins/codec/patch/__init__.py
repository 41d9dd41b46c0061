"""Jelly-Patch: options, the order of rows, decoder and encoder, columns."""

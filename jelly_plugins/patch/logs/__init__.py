"""Logs as wholes: joined, checked, compacted, inverted, converted, listed."""

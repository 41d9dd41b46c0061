"""Jelly into a store, or into quads."""

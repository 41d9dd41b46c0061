"""Patch logs and graphs: replayed all or nothing, and recorded."""

"""Patch logs and stores: replayed as transactions, and recorded."""

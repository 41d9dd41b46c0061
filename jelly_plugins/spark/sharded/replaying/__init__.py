"""Replay for sharded stores, whose positions have digests."""

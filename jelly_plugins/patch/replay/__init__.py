"""Replaying a log, whatever the store: its course, positions, files that grow, locks."""

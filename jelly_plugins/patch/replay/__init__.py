"""Replaying a log, whatever the store: transactions, which of them to apply, positions, locks."""

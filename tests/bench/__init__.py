"""Benchmarks: ``python -m tests.bench [NAME …] [--data FILE] [--json FILE] [--plot FILE]``.

Each row is one job, done by us and by each peer on the same data in the same run, several rounds in
turn; medians, and how many times as fast as each peer we are. Nothing here passes or fails.
"""

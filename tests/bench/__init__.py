"""Benchmarks: ``python -m tests.bench [NAME …] [--data FILE] [--json FILE] [--plot FILE]``.

Each row is one job, which this package and each peer run on the same data, alternating over several
rounds. The tables give medians, and our speed as a multiple of each peer's. No benchmark passes or
fails.
"""

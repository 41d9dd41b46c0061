"""Spark's data sources `jelly` and `jelly-patch`: reading, streaming and writing."""

"""Jelly through a broker of Apache Kafka: ``python -m pytest -m kafka``."""

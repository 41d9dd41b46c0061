"""Spark: Jelly as a format of DataFrames, and sessions on machines without Java."""

from __future__ import annotations

from . import _requirement  # noqa: F401  (first: it says what to install)
from .registration import register
from .session import session

__all__ = ["register", "session"]

"""How a log is read, whatever its syntax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..codec import DEFAULT_LIMITS, Limits
from .contexts import Contexts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """The parameters of ``read_messages`` other than the syntax, under the same names."""

    base: str | None = None
    context: Any = None
    contexts: Contexts | None = None
    strict: bool = False
    limits: Limits = DEFAULT_LIMITS

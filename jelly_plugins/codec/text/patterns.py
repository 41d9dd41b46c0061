"""Regular expressions that are compiled when they are first used.

The ranges of characters of blank node labels take milliseconds to compile, and most programs use
few of the patterns that have them, or none.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import AnyStr, Generic


class Pattern(Generic[AnyStr]):
    """A regular expression for text, or for bytes.

    >>> Pattern("a+").compiled.match("aab")[0]
    'aa'
    """

    def __init__(self, pattern: AnyStr) -> None:
        self._pattern: AnyStr = pattern

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        """It, compiled once."""
        return re.compile(self._pattern)

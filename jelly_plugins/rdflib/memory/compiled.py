"""Whether the compiled half of this package is there, and gives what rdflib gives.

It relies on how rdflib's terms are built inside. All that it relies on is looked at once in a
process (``agreement``); where this rdflib is another one, it is not used, and a warning says why.
"""

from __future__ import annotations

import logging
from functools import cache
from types import ModuleType

import rdflib

from ...codec import native
from .agreement import difference

_LOG = logging.getLogger(__name__)


@cache
def compiled() -> ModuleType | None:
    """The compiled module, None where it is not there, not wanted or not to be trusted."""
    if not native:
        return None
    try:
        from .. import _native
    except ModuleNotFoundError:
        return None
    except (ImportError, AttributeError, KeyError) as error:
        # It asks for parts of rdflib by name when it is loaded.
        reason: str | None = f"it lacks {error}"
    else:
        reason = difference(_native)
        if reason is None:
            return _native
    say_why_not("terms are made and taken apart", reason)
    return None


def say_why_not(what: str, reason: str | None) -> None:
    """Warn that a fast path is not used."""
    _LOG.warning(
        "rdflib %s is not as jelly-plugins knows it: %s; %s by rdflib's own methods, more slowly",
        rdflib.__version__,
        reason,
        what,
    )

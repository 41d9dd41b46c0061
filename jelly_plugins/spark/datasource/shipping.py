"""Objects that are sent to executors, with a clear error if this package is missing there.

Spark cannot unpickle an object on an executor whose Python lacks this package or one of its extras;
its error only names the missing module. A shipped object is therefore wrapped so that executors can
unpickle the wrapper without this package. Does not import Spark, but relies on how it pickles
functions of ``__main__``: by value, not by name.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any


class Shipped:
    """An object that is sent to executors together with all of its attributes."""

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return _unpack, (pickle.dumps((type(self), self.__dict__)),)


def _unpack(data: bytes) -> Any:
    """Restore an object. Runs where nothing else of this module is available."""
    import pickle
    import socket
    import sys

    try:
        kind, state = pickle.loads(data)
    except ImportError as error:
        raise ImportError(
            f"Python {sys.executable} of the executor on {socket.gethostname()} lacks what "
            f"jelly_plugins needs ({error}): pip install 'jelly-plugins[spark]' there, or ship an "
            "environment that has it, see docs/spark-clusters.md"
        ) from error
    made = kind.__new__(kind)
    made.__dict__.update(state)
    return made


_unpack.__module__ = "__main__"

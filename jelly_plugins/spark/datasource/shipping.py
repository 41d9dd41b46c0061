"""What goes to executors, and says there what their Python lacks.

Where an executor's Python has not this package, or an extra of it, what is sent to it cannot be
unpacked; and Spark's error says no more than that there is no such module. So it is sent in a
wrapping that executors can open without this package. Knows nothing of Spark, but that it pickles
functions of ``__main__`` by what they do, not by their names.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any


class Shipped:
    """An object that is sent to executors with all that it holds."""

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return _unpack, (pickle.dumps((type(self), self.__dict__)),)


def _unpack(data: bytes) -> Any:
    """Make the object again. Runs where nothing of this module is there."""
    import pickle
    import socket
    import sys

    try:
        kind, state = pickle.loads(data)
    except ImportError as error:
        raise ImportError(
            f"the Python on an executor on {socket.gethostname()}, {sys.executable}, lacks what "
            f"jelly_plugins needs there ({error}): pip install 'jelly-plugins[spark]' there, or "
            "ship an environment that has it, as docs/spark-clusters.md says"
        ) from error
    made = kind.__new__(kind)
    made.__dict__.update(state)
    return made


_unpack.__module__ = "__main__"

"""Says where the compiled kernel is missing though nobody has asked for that."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent


class AskedForPythonError(ImportError):
    """JELLY_PURE_PYTHON asks for the Python codec."""


def warn_of_sources(error: ImportError) -> None:
    """Warn whoever imports the package from its sources, where nothing is compiled: Python does so
    in the folder of a checkout, whatever is installed, and the codec is many times slower.

    An installed package that has no kernel was built without a compiler, of which ``jelly demo``
    and ``jelly --version`` tell.

    :param error: why the kernel was not imported.
    """
    # Only the sources have it.
    if not isinstance(error, AskedForPythonError) and (_FOLDER / "_native.pyx").exists():
        warnings.warn(
            f"jelly_plugins is imported from its sources in {_FOLDER.parent.parent}, where its "
            "kernel is not compiled, and is many times slower: run Python in another folder to "
            "have the installed package, or compile the kernel there with pip install -e .",
            RuntimeWarning,
            stacklevel=2,
        )

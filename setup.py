"""Builds the compiled kernel; all else is in pyproject.toml.

Where there is no C compiler the kernel is left out, and the Python codec does its work.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

CODEC = Path("jelly_plugins/codec")

#: Debugging symbols would make the kernel five times as large. Who sets CFLAGS knows better.
CHOSEN = sys.platform == "win32" or "CFLAGS" in os.environ
COMPILER_ARGUMENTS = [] if CHOSEN else ["-O3", "-g0"]

setup(
    ext_modules=[
        Extension(
            "jelly_plugins.codec._native",
            [str(CODEC / "_native.pyx")],
            depends=[str(path) for path in sorted((CODEC / "kernel").glob("*.pxi"))],
            extra_compile_args=COMPILER_ARGUMENTS,
            optional=True,
        )
    ]
)

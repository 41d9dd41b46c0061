"""Build what is compiled, and the README for the package index; all else is in pyproject.toml.

Where there is no C compiler it is left out, and Python does its work.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

#: Packages with something compiled: `_native.pyx`, made of the files in `kernel`, if there are any,
#: and for that of rdflib of the codec's too.
COMPILED = (
    Path("jelly_plugins/codec"),
    Path("jelly_plugins/rdflib"),
)

KERNELS = [
    str(path) for package in COMPILED for path in sorted((package / "kernel").rglob("*.pxi"))
]

#: Debugging symbols would make it five times as large. Who sets CFLAGS knows better.
CHOSEN = sys.platform == "win32" or "CFLAGS" in os.environ
COMPILER_ARGUMENTS = [] if CHOSEN else ["-O3", "-g0"]

#: A slow build that finds errors of memory: what a call was given is overwritten once it is done,
#: and so is each term that is freed. See tests/fuzz/README.md. It alone has the assertions of
#: Python's headers, which would come with CFLAGS of one's own too.
POISONED = os.environ.get("JELLY_POISON") == "1"


def readme() -> str:
    """The README with absolute links: an index shows it without the files that it links to."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    files = f"{project['urls']['Repository']}/blob/main/"
    text = Path("README.md").read_text(encoding="utf-8")
    return re.sub(r"\]\((?!https?:|#)", f"]({files}", text)


#: Modules in Cython's pure Python mode, and the names that they have when they are compiled.
PURE_MODE = {
    "jelly_plugins.codec.sparql._reading": "jelly_plugins/codec/sparql/reading.py",
    "jelly_plugins.codec.sparql._writing": "jelly_plugins/codec/sparql/writing.py",
    "jelly_plugins.formats._scans": "jelly_plugins/formats/scans.py",
    "jelly_plugins.jena._rows": "jelly_plugins/jena/rows.py",
}

EXTENSIONS = [
    Extension(
        ".".join((*package.parts, "_native")),
        [str(package / "_native.pyx")],
        depends=KERNELS,
        extra_compile_args=COMPILER_ARGUMENTS,
        define_macros=[("JELLY_POISON", "1") if POISONED else ("NDEBUG", None)],
        optional=True,
    )
    for package in COMPILED
] + [
    Extension(
        name,
        [path],
        # What only the compiled form declares.
        depends=sorted(map(str, Path(path).parent.glob("*.pxd"))),
        extra_compile_args=COMPILER_ARGUMENTS,
        define_macros=[("NDEBUG", None)],
        optional=True,
    )
    for name, path in PURE_MODE.items()
]

#: Compiling these two takes twice as long as compiling all others. They are first, so that two
#: processors end at the same time.
LARGE = ("jelly_plugins.codec._native", "jelly_plugins.jena._rows")

setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=sorted(EXTENSIONS, key=lambda each: each.name not in LARGE),
    # As many at a time as there are processors.
    options={"build_ext": {"parallel": True}},
)

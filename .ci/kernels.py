"""Fail unless each compiled kernel of the installed package can be imported.

The kernels are optional where there is no C compiler, so that a build without one still succeeds.
"""

from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

for source in sorted(ROOT.glob("jelly_plugins/**/_native.pyx")):
    import_module(".".join(source.relative_to(ROOT).with_suffix("").parts))
for name in ("codec.sparql._reading", "codec.sparql._writing", "jena._rows"):
    import_module(f"jelly_plugins.{name}")

"""Says what is missing, where rdflib is."""

from __future__ import annotations

from ..errors import MissingExtraError

try:
    import rdflib  # noqa: F401
except ImportError as error:
    raise MissingExtraError("rdflib is missing: pip install 'jelly-plugins[rdflib]'") from error

"""Results of SPARQL queries: Jelly-SPARQL (``.jellys``), Apache Jena's binary formats (``.srt``,
``.srp``) and the W3C's (``.srj``, ``.srx``, ``.csv``, ``.tsv``).

>>> import io
>>> from jelly_plugins import Iri, Literal
>>> file = io.BytesIO()
>>> solutions = [(Iri("http://example.org/a"), Literal("A")), (Iri("http://example.org/b"), None)]
>>> write_results(["person", "name"], solutions, file, format="jellys")
2
>>> results = read_results(file.getvalue())
>>> results.variables, list(results) == solutions
(['person', 'name'], True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lazy

if TYPE_CHECKING:
    from ..codec.sparql.decoder import ResultsFrame
    from ..codec.sparql.options import RESULTS_LIMITS, ResultsOptions
    from .formats import ResultsFormat, format_named, format_of
    from .results import (
        ResultsReader,
        encode_results,
        read_results,
        write_boolean,
        write_results,
    )

__all__ = [
    "RESULTS_LIMITS",
    "ResultsFormat",
    "ResultsFrame",
    "ResultsOptions",
    "ResultsReader",
    "encode_results",
    "format_named",
    "format_of",
    "read_results",
    "write_boolean",
    "write_results",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.attributes(__name__, __all__, ("formats", "results"))

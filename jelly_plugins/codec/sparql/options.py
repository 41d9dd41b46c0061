"""Options of a stream of query results, and the default limits of its readers.

Reference: SparqlResultsOptions in sparql.proto.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from ..common.limits import Limits
from ..common.options import COMMON_FIELDS, CommonOptions, presets

VERSION: Final = 1

#: Types of columns: their fields in a frame, in the order in which a header numbers them.
IRIS: Final = 7
BLANK_NODES: Final = 8
LITERALS: Final = 9
MIXED: Final = 10
COLUMNS: Final = (IRIS, BLANK_NODES, LITERALS, MIXED)
#: Lookups: their fields in a frame.
NAMES: Final = 4
PREFIXES: Final = 5
DATATYPES: Final = 6
LOOKUPS: Final = (NAMES, PREFIXES, DATATYPES)

#: Default limits of readers: the tables may be as large as the format's largest preset.
RESULTS_LIMITS: Final = Limits(name_table=16384, prefix_table=4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsOptions(CommonOptions):
    """Options of a Jelly-SPARQL stream (SparqlResultsOptions).

    :raises OptionsError: a value has the wrong type.

    >>> ResultsOptions.small().max_name_table_size
    256
    """

    _message = "SparqlResultsOptions"
    _fields: ClassVar = {1: "stream_name", **COMMON_FIELDS}
    _of_format = " of Jelly-SPARQL"
    _last_version = VERSION
    _least_names = 128
    _presets = presets((8192, 1024, 64), (256, 64, 32))

    generalized_statements: bool = field(default=False, init=False, repr=False)
    rdf_star: bool = field(default=False, init=False, repr=False)
    stream_name: str = ""
    max_name_table_size: int = 8192
    max_prefix_table_size: int = 1024
    max_datatype_table_size: int = 64
    version: int = VERSION

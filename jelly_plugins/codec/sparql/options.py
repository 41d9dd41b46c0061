"""Options of a stream of query results, and the limits that its readers have by default.

Reference: SparqlResultsOptions in sparql.proto.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from ...errors import OptionsError
from ..common import options as common_options
from ..common.limits import Limits
from ..common.options import COMMON_FIELDS, FLAGS, check_tables, check_types

VERSION: Final = 1

#: Entries that a name table has at least.
MIN_NAME_TABLE: Final = 128

#: What readers accept by default: the tables may be as large as the format's largest preset.
RESULTS_LIMITS: Final = Limits(name_table=16384, prefix_table=4096)

_FIELDS: Final = {1: "stream_name"} | {
    number: name for number, name in COMMON_FIELDS.items() if name not in FLAGS
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsOptions:
    """Options of a Jelly-SPARQL stream (SparqlResultsOptions).

    :raises OptionsError: a value is not of its type.

    >>> ResultsOptions.small().max_name_table_size
    256
    """

    generalized_statements: ClassVar[bool] = False
    rdf_star: ClassVar[bool] = False

    stream_name: str = ""
    max_name_table_size: int = 8192
    max_prefix_table_size: int = 1024
    max_datatype_table_size: int = 64
    version: int = VERSION

    def __post_init__(self) -> None:
        check_types(self)

    @classmethod
    def small(cls) -> ResultsOptions:
        """Small tables, for short results."""
        return cls(max_name_table_size=256, max_prefix_table_size=64, max_datatype_table_size=32)

    def check(self, limits: Limits) -> None:
        """Reject options that no stream may have, and tables above ``limits``.

        :raises OptionsError: they are unsupported.
        :raises LimitError: a table is larger than allowed.
        """
        if self.version != VERSION:
            raise OptionsError(
                f"protocol version {self.version} of Jelly-SPARQL is not supported (only {VERSION})"
            )
        check_tables(self, limits, MIN_NAME_TABLE)


def read_options(data: bytes, pos: int, end: int, limits: Limits) -> ResultsOptions:
    """Read a SparqlResultsOptions, see :func:`.common.options.read_options`."""
    return common_options.read_options(
        ResultsOptions, _FIELDS, "SparqlResultsOptions", data, pos, end, limits
    )


def write_options(options: ResultsOptions) -> bytes:
    """Write a SparqlResultsOptions, without tag and length."""
    return common_options.write_options(options, _FIELDS)

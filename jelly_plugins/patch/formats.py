"""The formats of patches: their names, and the options of what is written."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, Literal

from ..codec import PatchOptions, PatchStatementType, PatchStreamType
from ..errors import OptionsError, shown
from ..io.sources import ending_of


class PatchFormat(StrEnum):
    """A format by its usual file ending."""

    JELLY_PATCH = "jellyp"
    RDF_PATCH = "rdfp"
    #: Binary RDF Patch, as Apache Jena has it.
    RDF_PATCH_THRIFT = "trp"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOptionChanges:
    """Options of the Jelly-Patch stream written, where the sources do not determine them.

    :ivar preset: table sizes of the Jelly-Patch written: those of ``PatchOptions.big`` or
        ``small``.
    :ivar statement_type: statement type, also of RDF Patch text, which does not declare it: with
        TRIPLES, its statements have no graph.
    :ivar stream_type: stream type of the Jelly-Patch written.
    :ivar generalized_statements: also whether generalized statements are accepted in text.
    """

    preset: Literal["big", "small"] | None = None
    statement_type: PatchStatementType | str | None = None
    stream_type: PatchStreamType | str | None = None
    generalized_statements: bool | None = None
    rdf_star: bool | None = None

    def on(self, options: PatchOptions) -> PatchOptions:
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return options.changed(named.pop("preset"), named)


_ALIASES: Final = {
    "jelly-patch": PatchFormat.JELLY_PATCH,
    "application/x-jelly-rdf-patch": PatchFormat.JELLY_PATCH,
    "rdf-patch": PatchFormat.RDF_PATCH,
    "application/rdf-patch": PatchFormat.RDF_PATCH,
    "rdf-patch-thrift": PatchFormat.RDF_PATCH_THRIFT,
    "application/rdf-patch+thrift": PatchFormat.RDF_PATCH_THRIFT,
}


def format_named(given: PatchFormat | str | None) -> PatchFormat | None:
    """A format as a caller gives it: by its file ending, its title or its media type."""
    if given is None or isinstance(given, PatchFormat):
        return given
    if isinstance(given, str):
        plain = given.lower().removeprefix(".")
        found = _ALIASES.get(plain) or PatchFormat._value2member_map_.get(plain)
        if isinstance(found, PatchFormat):
            return found
    raise OptionsError(
        f"{shown(given)} is not one of the formats of patches, which are {', '.join(PatchFormat)}"
    )


def format_of(name: str) -> PatchFormat | None:
    """The format of a file by its name, compressed or not; None if unknown."""
    ending = ending_of(name)
    return next((each for each in PatchFormat if ending == f".{each}"), None)

"""How conversions between formats are asked for, whatever steps they take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias
from typing import Literal as TypingLiteral

from ..backends import BlankNodes
from ..codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_LIMITS,
    Limits,
    LogicalType,
    PhysicalType,
    StreamOptions,
)
from ..codec.common.options import FLAGS, TABLES
from ..codec.text.ntriples import Dialect, Notation


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionChanges:
    """What is asked of the stream options of an output; None leaves an option as it would be.

    :ivar like: options to take over, but for the logical type, which is about frames, and the
        version; what else is asked for is changed in these.
    :ivar preset: ``"big"`` or ``"small"``: table sizes, see ``StreamOptions``.
    :ivar logical_type: it has to go with the physical type. In a grouped stream made from Jelly
        alone, frames stay the elements; any other input is one element, in one frame.
    :ivar flat: one flat stream, whatever the frames of the source were; not with ``logical_type``.

    >>> changes = OptionChanges(physical_type=PhysicalType.QUADS, max_name_table_size=64)
    >>> options = changes.applied(StreamOptions(logical_type=LogicalType.GRAPHS))
    >>> options.logical_type.name, options.max_name_table_size
    ('DATASETS', 64)
    """

    like: StreamOptions | None = None
    preset: str | None = None
    physical_type: PhysicalType | None = None
    logical_type: LogicalType | None = None
    flat: bool = False
    stream_name: str | None = None
    generalized_statements: bool | None = None
    rdf_star: bool | None = None
    max_name_table_size: int | None = None
    max_prefix_table_size: int | None = None
    max_datatype_table_size: int | None = None

    def __post_init__(self) -> None:
        if self.flat and self.logical_type is not None:
            raise ValueError("flat does not go with logical_type")

    def applied(self, options: StreamOptions) -> StreamOptions:
        """``options`` with the changes; the logical type follows the physical type, unless it is
        given.
        """
        if self.like is not None:
            kept = {name: getattr(options, name) for name in ("logical_type", "version")}
            options = replace(self.like, **kept)
        asked = ("physical_type", "stream_name", *FLAGS, *TABLES)
        options = options.changed(self.preset, {name: getattr(self, name) for name in asked})
        return replace(options, logical_type=self._logical_type(options))

    def _logical_type(self, options: StreamOptions) -> int:
        if self.logical_type is not None:
            return self.logical_type
        flat = options.physical_type.flat
        if self.flat:
            return flat
        base = options.base_logical_type
        grouped = LogicalType.GRAPHS if flat is LogicalType.FLAT_TRIPLES else LogicalType.DATASETS
        if base in (LogicalType.UNSPECIFIED, flat, grouped):
            return options.logical_type
        return grouped if options.grouped else flat


#: Whether prefixes are written as namespaces: none, all, or those that are of use.
Namespaces: TypeAlias = bool | TypingLiteral["used"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionSettings:
    """What is asked of a conversion; each step takes from it what concerns it.

    :ivar changes: to the stream options, where Jelly is written.
    :ivar frame_rows: rows after which a frame ends, where Jelly is written. From Jelly to Jelly
        frames stay as they are without it and ``frame_bytes``.
    :ivar frame_bytes: bytes after which a frame ends.
    :ivar restart_every: bytes after which the next frame is a restart point, where a reader may
        begin; see ``codec.rdf.restarts``.
    :ivar namespaces: write the prefixes of RDF text as namespaces; with ``"used"`` those that an
        IRI begins with, before the first such.
    :ivar base: IRI that relative ones in RDF text are resolved against.
    :ivar blank_nodes: of several sources: ``"fresh"`` keeps them apart by new labels, ``"keep"``
        takes equal labels for one node. One source keeps its labels.
    :ivar concatenated: a Jelly source may hold several streams.
    :ivar lossy: see ``transcode``.
    :ivar notation: of quoted triples in N-Triples and N-Quads.
    :ivar strict: whether to refuse a Jelly source of no bytes, which is an empty stream otherwise.
    :ivar delimited: whether the Jelly written has its frames delimited; otherwise it is one frame
        that stands alone.
    :ivar value_forms: where RDF Thrift or RDF Protobuf is written, see ``jena.write``.
    :ivar limits: the limits on untrusted input.
    """

    changes: OptionChanges = OptionChanges()
    frame_rows: int | None = None
    frame_bytes: int | None = None
    restart_every: int | None = None
    namespaces: Namespaces = False
    base: str | None = None
    blank_nodes: BlankNodes = "fresh"
    concatenated: bool = False
    lossy: bool = False
    notation: Notation = Notation.RDF_1_2
    strict: bool = False
    delimited: bool = True
    value_forms: bool = False
    limits: Limits = DEFAULT_LIMITS

    @property
    def generalized(self) -> bool:
        """Whether generalized statements are taken."""
        return self.changes.generalized_statements or False

    @property
    def dialect(self) -> Dialect:
        """Which quoted triples N-Triples and N-Quads are read with: those of RDF-star only where
        the stream options ask for them."""
        return Dialect.RDF_STAR if self.changes.rdf_star else Dialect.RDF_1_2

    @property
    def reading(self) -> dict[str, Any]:
        """The settings of whoever reads Jelly."""
        return {
            "concatenated": self.concatenated,
            "strict": self.strict,
            "limits": self.limits,
        }

    @property
    def encoding(self) -> dict[str, Any]:
        """The settings of an encoder, but for the stream options."""
        return {
            "namespaces": bool(self.namespaces),
            "frame_rows": self.frame_rows or DEFAULT_FRAME_ROWS,
            "frame_bytes": self.frame_bytes or DEFAULT_FRAME_BYTES,
            "restart_every": self.restart_every,
            "limits": self.limits,
        }


#: What is not asked for: everything as it is by default.
DEFAULT_SETTINGS: Final = ConversionSettings()

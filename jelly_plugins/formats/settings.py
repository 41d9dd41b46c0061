"""The settings of conversions and loads, and what conversions return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias, TypedDict
from typing import Literal as TypingLiteral

from ..backends import BlankNodes
from ..codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_LIMITS,
    AnyFrame,
    Limits,
    LogicalType,
    PhysicalType,
    StreamOptions,
    TermFactory,
)
from ..codec.common.options import FLAGS, GROUPED, TABLES
from ..codec.text.ntriples import Dialect, Notation
from ..errors import OptionsError
from ..io.sources import Format, FormatName, Source, format_named, format_of
from ..io.streams import Progress, Steps
from ..notebook import Shown

Preset: TypeAlias = TypingLiteral["big", "small"]

#: Where contexts of JSON-LD come from: documents or contexts by IRI, parsed or as bytes of JSON, or
#: a function that gives one for an IRI.
Contexts: TypeAlias = Mapping[str, Any] | Callable[[str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionChanges:
    """Requested stream options of an output; None keeps the default of an option.

    :ivar like: options to take over, but for the logical type, which is about frames, and the
        version; other requested settings override them.
    :ivar preset: table sizes of the Jelly written: those of ``StreamOptions.big`` or ``small``.
    :ivar physical_type: physical type of the Jelly written.
    :ivar logical_type: logical type of the Jelly written, which must match the physical type. In a
        grouped stream made from Jelly alone, frames stay the elements; any other input is one
        element, in one frame.
    :ivar flat: write one flat stream, whatever the frames of the source were; not with
        ``logical_type``.
    :ivar stream_name: name of the stream written.

    >>> changes = OptionChanges(physical_type=PhysicalType.QUADS, max_name_table_size=64)
    >>> options = changes.applied(StreamOptions(logical_type=LogicalType.GRAPHS))
    >>> options.logical_type.name, options.max_name_table_size
    ('DATASETS', 64)

    :raises ValueError: ``flat`` and a logical type are given.
    """

    like: StreamOptions | None = None
    preset: Preset | None = None
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
            raise ValueError("flat cannot be combined with logical_type")

    def applied(self, options: StreamOptions) -> StreamOptions:
        """``options`` with the changes; the logical type follows the physical type, unless it is
        given.
        """
        if self.like is not None:
            kept = {name: getattr(options, name) for name in ("logical_type", "version")}
            options = replace(self.like, **kept)
        asked = ("physical_type", "stream_name", *FLAGS, *TABLES)
        options = options.changed(self.preset, {name: getattr(self, name) for name in asked})
        if self.logical_type is not None:
            return replace(options, logical_type=self.logical_type)
        flat = options.physical_type.flat
        grouped = LogicalType.GRAPHS if flat is LogicalType.FLAT_TRIPLES else LogicalType.DATASETS
        if self.flat:
            return replace(options, logical_type=flat)
        if options.base_logical_type in (LogicalType.UNSPECIFIED, flat, grouped):
            return options
        return replace(options, logical_type=grouped if options.grouped else flat)


class Frames(NamedTuple):
    """A range of frames, counted from 0.

    :ivar last: the last of them; None for all from the first on.
    """

    first: int
    last: int | None


class Given(NamedTuple):
    """A source and its format."""

    source: Source
    format: Format


class ConversionOptions(TypedDict, total=False):
    """The fields of :class:`ConversionSettings`, as keyword arguments."""

    changes: OptionChanges
    take_frames: Frames | None
    frame_rows: int | None
    frame_bytes: int | None
    restart_every: int | None
    namespaces: bool
    base: str | None
    contexts: Contexts | None
    blank_nodes: BlankNodes
    concatenated: bool
    lossy: bool
    notation: Notation
    strict: bool
    delimited: bool
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionSettings:
    """Settings of a conversion; each conversion uses those that apply to it.

    :ivar changes: to the stream options, where Jelly is written.
    :ivar take_frames: of Jelly sources, convert only these frames of each; namespaces that were
        declared before them are declared in the first.
    :ivar frame_rows: rows after which a frame ends, where Jelly is written. From Jelly to Jelly
        frames stay as they are without it and ``frame_bytes``.
    :ivar frame_bytes: bytes after which a frame ends.
    :ivar restart_every: bytes after which the next frame is a restart point, where a reader may
        begin; see ``codec.rdf.restarts``.
    :ivar namespaces: keep the prefixes of the sources, and the namespaces of Jelly. In formats in
        which prefixes come first (Turtle, TriG, RDF/XML) those are kept that are declared before
        the end of the first chunk of statements, some 64 KiB.
    :ivar base: base IRI for relative IRIs in RDF text.
    :ivar contexts: remote contexts of JSON-LD by their IRIs, as documents or their ``@context``, or
        a function that returns one for an IRI; none is fetched. A document with contexts, remote
        or not, is held in memory, up to ``frame_bytes`` of the limits.
    :ivar blank_nodes: relabel the blank nodes of each of several sources (``"fresh"``), or treat
        equal labels as one node (``"keep"``). One source keeps its labels.
    :ivar concatenated: treat options at the start of a frame of Jelly as a new stream, as after
        ``cat``.
    :ivar lossy: discard metadata of regrouped frames, and empty graphs; see ``transcode``.
    :ivar notation: of quoted triples in N-Triples and N-Quads.
    :ivar strict: reject known deviations from the specification: a Jelly source of no bytes, which
        is otherwise an empty stream.
    :ivar delimited: whether the Jelly written has its frames delimited; otherwise it is one frame
        without a length.
    :ivar limits: the limits on untrusted input.
    """

    changes: OptionChanges = OptionChanges()
    take_frames: Frames | None = None
    frame_rows: int | None = None
    frame_bytes: int | None = None
    restart_every: int | None = None
    namespaces: bool = True
    base: str | None = None
    contexts: Contexts | None = None
    blank_nodes: BlankNodes = "fresh"
    concatenated: bool = False
    lossy: bool = False
    notation: Notation = Notation.RDF_1_2
    strict: bool = False
    delimited: bool = True
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        for name in ("frame_rows", "frame_bytes", "restart_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1 (got {value})")

    def check(self, formats: Sequence[Format], target: Format) -> None:
        """Reject settings that do not go with what is converted.

        :raises ValueError: ``sources`` is empty, or ``take_frames`` is set for one without frames.
        :raises OptionsError: the frames that would be written are not the elements of the logical
            type.
        """
        if not formats:
            raise ValueError("at least one source is required")
        framed = {Format.JELLY, Format.JELLY_TEXT}.issuperset(formats)
        if self.take_frames is not None and not framed:
            raise ValueError("take_frames applies to Jelly only")
        logical_type = self.changes.logical_type
        if (
            target not in (Format.JELLY, Format.JELLY_TEXT)
            or logical_type is None
            or not StreamOptions(logical_type=logical_type).grouped
        ):
            return
        if self.regrouped:
            raise OptionsError(
                f"frames of logical type {logical_type.name} are its elements: "
                "do not set a frame size"
            )
        if logical_type not in GROUPED and not framed:
            raise OptionsError(
                f"a source that is not Jelly has no frames for logical type {logical_type.name}"
            )

    @property
    def regrouped(self) -> bool:
        """Whether the size of frames is given."""
        return self.frame_rows is not None or self.frame_bytes is not None

    @property
    def generalized(self) -> bool:
        """Whether generalized statements are accepted."""
        return self.changes.generalized_statements or False

    @property
    def dialect(self) -> Dialect:
        """Which quoted triples N-Triples and N-Quads are read with: those of RDF-star only where
        the stream options ask for them."""
        return Dialect.RDF_STAR if self.changes.rdf_star else Dialect.RDF_1_2

    @property
    def reading(self) -> dict[str, Any]:
        """The settings of a reader of Jelly."""
        return {
            "concatenated": self.concatenated,
            "strict": self.strict,
            "limits": self.limits,
        }

    @property
    def encoding(self) -> dict[str, Any]:
        """The settings of an encoder, but for the stream options. A frame that is not delimited is
        as large as the limits allow."""
        rows, size = DEFAULT_FRAME_ROWS, DEFAULT_FRAME_BYTES
        if not self.delimited:
            rows, size = self.limits.frame_rows, self.limits.frame_bytes
        return {
            "frame_rows": self.frame_rows or rows,
            "frame_bytes": self.frame_bytes or size,
            "restart_every": self.restart_every,
            "limits": self.limits,
        }


#: The settings of a conversion without any.
DEFAULT_SETTINGS: Final = ConversionSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion(Shown):
    """What was written.

    :ivar statements: number of statements.
    :ivar left_out: number of things that the target has no place for, by what they are.
    """

    statements: int
    left_out: dict[str, int] = field(default_factory=dict)


class Counter:
    """Counts what is converted.

    :ivar statements: number of statements so far.
    :ivar frames: number of frames of Jelly that were written.
    """

    statements = frames = 0
    _metadata = _empty_graphs = 0

    def __init__(self, progress: Progress | None = None) -> None:
        self._steps = Steps(progress)

    def restart(self) -> None:
        """Count from 0, when the sources are read again."""
        self.statements = self.frames = self._metadata = self._empty_graphs = 0

    def reach(self, statements: int) -> None:
        """Set the number of statements so far."""
        self.statements = statements
        self._steps.reach(statements)

    def add(self, statements: int) -> None:
        """Count more statements."""
        self.reach(self.statements + statements)

    def count_left_out(self, frame: AnyFrame) -> None:
        """Count what a frame has for a target that has only statements."""
        self._metadata += len(frame.metadata)
        self._empty_graphs += len(frame.empty_graphs)

    def written(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """Frames, counted as they are written."""
        for frame in frames:
            self.frames += 1
            yield frame

    def end(self) -> None:
        """Call the callback a last time: before a file is replaced, since it may raise."""
        self._steps.end(self.statements)

    def ended(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """Frames, and :meth:`end` after them."""
        yield from frames
        self.end()

    def conversion(self) -> Conversion:
        """All that was counted."""
        beside = {"frame metadata entries": self._metadata, "empty graphs": self._empty_graphs}
        return Conversion(
            statements=self.statements,
            left_out={what: number for what, number in beside.items() if number},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """How sources of any format are read and written.

    :ivar counter: counts what is converted.
    :ivar validator: the factory of the library that the chunks are for, see ``codec.TextDecoder``:
        readers that can, reject with its place what the library rejects.
    :ivar on_frame: called for each frame of Jelly after it was read, see ``JellyReader``.
    :ivar star: whether the options of Jelly declare quoted triples in any case.
    """

    settings: ConversionSettings = DEFAULT_SETTINGS
    counter: Counter = field(default_factory=Counter)
    validator: TermFactory[Any] | None = None
    on_frame: Callable[[AnyFrame], object] | None = None
    star: bool = False


class LoadOptions(TypedDict, total=False):
    """The fields of :class:`LoadSettings`, as keyword arguments."""

    format: FormatName | None
    base: str | None
    contexts: Contexts | None
    atomic: bool
    concatenated: bool
    strict: bool
    progress: Progress | None
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """Settings of a load of a source of any format into a graph, dataset or store.

    :ivar format: format of the source: a :class:`~jelly_plugins.Format` or its name, which is a
        file ending, a title, a media type, or pyoxigraph's ``RdfFormat``. By default it follows
        from the name of the source, and is Jelly where the name says nothing.
    :ivar base: base IRI for relative IRIs of Turtle, TriG, RDF/XML and JSON-LD; without it they are
        rejected.
    :ivar contexts: remote contexts of JSON-LD by IRI, or a function that returns one; none is
        fetched. A document with contexts, remote or not, is held in memory, up to ``frame_bytes``
        of the limits.
    :ivar atomic: load all statements or none, even after an error in the last byte; the backend's
        ``load`` says what this costs.
    :ivar concatenated: treat options at the start of a frame of Jelly as a new stream, as after
        ``cat``.
    :ivar strict: reject known deviations from the specification: a Jelly source of no bytes, which
        is otherwise an empty stream.
    :ivar progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :ivar limits: the limits on untrusted input.
    """

    format: FormatName | None = None
    base: str | None = None
    contexts: Contexts | None = None
    atomic: bool = True
    concatenated: bool = False
    strict: bool = False
    progress: Progress | None = None
    limits: Limits = DEFAULT_LIMITS

    def format_for(self, src: Source) -> Format:
        """The format of a source.

        :raises ValueError: there is no format of that name.
        """
        if self.format is not None:
            return format_named(self.format)
        return format_of(src) or Format.JELLY

    def conversion(
        self, changes: OptionChanges, *, blank_nodes: BlankNodes = "fresh"
    ) -> ConversionSettings:
        """The settings for a reader of the format."""
        return ConversionSettings(
            changes=changes,
            blank_nodes=blank_nodes,
            base=self.base,
            contexts=self.contexts,
            concatenated=self.concatenated,
            strict=self.strict,
            limits=self.limits,
        )


#: The settings by default.
DEFAULT_LOAD: Final = LoadSettings()

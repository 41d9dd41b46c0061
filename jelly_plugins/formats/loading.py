"""The settings that loads of every backend share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypedDict

from ..backends import BlankNodes
from ..codec import DEFAULT_LIMITS, Limits
from ..io.names import Format, FormatName, format_named, format_of
from ..io.progress import Progress
from ..io.sources import Source
from .contexts import Contexts
from .settings import ConversionSettings, OptionChanges


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

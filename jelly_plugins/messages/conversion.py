"""Logs from one syntax into another, with their boundaries.

Between N-Triples or N-Quads and Jelly no term is made on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..codec import DEFAULT_LIMITS, Limits, PhysicalType, StreamOptions, TextDecoder
from ..codec.text.ntriples import Notation
from ..errors import JellyError
from ..formats.contexts import Contexts
from ..formats.jelly import UndeclaredError
from ..io.progress import Progress, Steps
from ..io.sinks import Destination, is_replaceable, open_output
from ..io.sources import Input, Source, rewinder
from .formats import LogFormat, Syntax
from .jelly import FrameGroups, Group, read_jelly
from .lines import LineLog, LineWriter, read_lines
from .parsing import ReadSettings
from .reader import line_log, source_syntax
from .rows import FrameCutter, log_options
from .writer import Counter, write_log


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConversion:
    """What was written.

    :ivar messages: number of messages.
    :ivar left_out: number of things that the target has no place for, by what they are.
    """

    messages: int
    left_out: dict[str, int] = field(default_factory=dict)


def convert_messages(
    src: Source,
    dst: Destination,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    source_dialect: str | None = None,
    target_dialect: str | None = None,
    base: str | None = None,
    context: Any = None,
    contexts: Contexts | None = None,
    namespaces: Mapping[str, str] | None = None,
    options: StreamOptions | None = None,
    notation: Notation = Notation.RDF_1_2,
    strict: bool = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> LogConversion:
    """Convert a log, in memory that does not grow with it.

    :param source_format: see ``format`` of ``read_messages``; and for ``source_dialect``,
        ``base``, ``context``, ``contexts`` and ``strict`` likewise.
    :param target_format: see ``format`` of ``write_messages``; and for ``target_dialect``,
        ``namespaces``, ``options`` and ``notation`` likewise. Jelly is written as triples by
        default where the source has no graphs. ``rdf_star`` is added for quoted triples if ``src``
        can be read again and ``dst`` is a file that is replaced; otherwise they need ``options``.
    :param progress: called about every 10,000 messages and at the end, with the number of
        messages since the last call, as ``tqdm.update`` takes it.
    :raises JellyError: the log is malformed, or the other syntax cannot express it.

    >>> import io
    >>> jelly, log = io.BytesIO(), b'VERSION "1.2-messages" <urn:a> <urn:p> 1 . MESSAGE MESSAGE'
    >>> convert_messages(log, jelly, source_format="ttl", target_format="jelly").messages
    2
    """
    source = source_syntax(src, source_format, source_dialect)
    target = source_syntax(dst, target_format, target_dialect)
    steps = Steps(progress)
    convert = partial(
        _convert,
        src,
        dst,
        source,
        target,
        settings=ReadSettings(
            base=base, context=context, contexts=contexts, strict=strict, limits=limits
        ),
        prefixes=namespaces or {},
        notation=notation,
        steps=steps,
    )
    wanted = options or log_options(graphs=source.format.has_graphs)
    again = rewinder(src) if is_replaceable(dst) else None
    try:
        result = convert(wanted)
    except UndeclaredError:
        if again is None:
            raise
        again()
        result = convert(replace(wanted, rdf_star=True))
    steps.end(result.messages)
    return result


def _convert(
    src: Source,
    dst: Destination,
    source: Syntax,
    target: Syntax,
    wanted: StreamOptions,
    *,
    settings: ReadSettings,
    prefixes: Mapping[str, str],
    notation: Notation,
    steps: Steps,
) -> LogConversion:
    limits = settings.limits
    has_graphs = source.format.has_graphs
    with Input(src) as opened:
        if source.format is LogFormat.JELLY:
            groups = FrameGroups(opened, limits)
            # The statements of the stream are all statements of lines.
            if target.format is LogFormat.N_QUADS or (
                target.format is LogFormat.N_TRIPLES
                and groups.physical_type() is PhysicalType.TRIPLES
            ):
                return _jelly_to_lines(groups, dst, target, notation, limits, steps)
            messages = read_jelly(groups, limits)
        else:
            log = line_log(opened, source, settings)
            same = PhysicalType.QUADS if has_graphs else PhysicalType.TRIPLES
            if target.format is LogFormat.JELLY and wanted.physical_type is same:
                log.set_options(wanted)
                return LogConversion(messages=_lines_to_jelly(log, dst, limits, steps))
            messages = read_lines(log, limits)
        counter = Counter(messages, steps)
        write_log(
            counter,
            dst,
            target,
            prefixes=prefixes,
            options=wanted,
            notation=notation,
            limits=limits,
        )
    keeps = target.format is LogFormat.JELLY
    return _conversion(counter.messages, 0 if keeps else counter.metadata)


def _conversion(messages: int, metadata: int) -> LogConversion:
    left_out = {"frame metadata entries": metadata} if metadata else {}
    return LogConversion(messages=messages, left_out=left_out)


def _lines_to_jelly(log: LineLog, dst: Destination, limits: Limits, steps: Steps) -> int:
    cutter = FrameCutter(log.opening, limits)
    with open_output(dst) as out:
        for chunk in log.chunks():
            out.write(cutter.cut(chunk.rows, chunk.counts))
            steps.reach(cutter.frames)
    return cutter.frames


def _jelly_to_lines(
    groups: FrameGroups,
    dst: Destination,
    target: Syntax,
    notation: Notation,
    limits: Limits,
    steps: Steps,
) -> LogConversion:
    messages = metadata = 0
    group: Group | None = None
    decoder = TextDecoder(notation, limits=limits)
    with open_output(dst) as out:
        writer = LineWriter(out, target.dialect)
        try:
            for group in groups:
                before = decoder.statements
                text = b"".join(decoder.decode(group.data))
                counts = group.counts
                if counts is None:
                    counts = [decoder.statements - before]
                    if decoder.last_frame is not None:
                        metadata += len(decoder.last_frame.metadata)
                writer.write(text, counts)
                messages += len(counts)
                steps.reach(messages)
                group = None
            if messages:
                decoder.finish()
        except JellyError as error:
            raise groups.reject(error, group) from None
        writer.finish()
    return _conversion(messages, metadata)

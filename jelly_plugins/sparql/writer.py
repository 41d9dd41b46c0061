"""Results of SPARQL queries into any format: :func:`write_results`, :func:`write_boolean`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from ..codec import Describe, Limits, delimit, describe
from ..codec.sparql.encoder import DEFAULT_FRAME_CELLS, ResultsEncoder, encode_boolean
from ..codec.sparql.options import RESULTS_LIMITS, ResultsOptions
from ..io.sinks import Counted, Destination, open_output
from ..io.sources import name_of
from .formats import ResultsFormat, codec_of, format_named, format_of

_BATCH: Final = 4096


def format_for(dst: Destination, format: ResultsFormat | str | None) -> ResultsFormat:  # noqa: A002
    """The format that is given, or that of a destination's name.

    :raises ValueError: there is neither.
    """
    if format is not None:
        return format_named(format)
    found = format_of(dst)
    if found is None:
        raise ValueError(
            f"the format of {name_of(dst)!r} is unknown: give format, such as 'jellys'"
        )
    return found


def encode_results(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    *,
    options: ResultsOptions | None = None,
    describe: Describe = describe,
    frame_cells: int = DEFAULT_FRAME_CELLS,
    limits: Limits = RESULTS_LIMITS,
) -> Iterator[bytes]:
    """Encode results as Jelly-SPARQL; the bytes of each frame come with their delimiter, as soon as
    there are solutions enough for it.

    :param frame_cells: cells (rows times variables) after which a frame ends.

    See :func:`write_results` for the other parameters and for what is raised.
    """
    encoder = ResultsEncoder(
        variables, options=options, describe=describe, frame_cells=frame_cells, limits=limits
    )
    iterator = iter(solutions)
    step = max(1, min(frame_cells, _BATCH) // max(1, len(variables)))
    while batch := list(islice(iterator, step)):
        yield from map(delimit, encoder.add(batch))
    yield from map(delimit, encoder.finish())


def write_results(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    dst: Destination,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    options: ResultsOptions | None = None,
    frame_cells: int = DEFAULT_FRAME_CELLS,
    describe: Describe = describe,
    limits: Limits = RESULTS_LIMITS,
) -> int:
    """Write the solutions of a SELECT query, as they come.

    :param variables: their names, in order.
    :param solutions: a term for each variable, None where it is unbound.
    :param dst: path or open binary file; a path is replaced only once everything is written.
    :param format: a :class:`~jelly_plugins.sparql.ResultsFormat` or a name of one; by default
        that of the destination's name.
    :param options: of a Jelly-SPARQL stream: table sizes, name.
    :param frame_cells: cells (rows times variables) after which a frame of Jelly-SPARQL ends.
    :param describe: takes the terms apart, see ``codec.Describe``.
    :param limits: bounds of what is written.
    :return: the number of solutions.
    :raises ValueError: no format is given, and the name does not indicate one.
    :raises JellyError: a term or a name cannot be written.
    """
    form = format_for(dst, format)
    counted = Counted(solutions)
    if form is ResultsFormat.JELLY:
        chunks = encode_results(
            variables,
            counted,
            options=options,
            describe=describe,
            frame_cells=frame_cells,
            limits=limits,
        )
    else:
        chunks = codec_of(form).write(variables, counted, describe, limits)
    with open_output(dst) as out:
        for chunk in chunks:
            out.write(chunk)
    return counted.count


def write_boolean(
    value: bool,
    dst: Destination,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    options: ResultsOptions | None = None,
) -> None:
    """Write the result of an ASK query; see :func:`write_results`.

    :raises TermError: the format has no place for it: Jena's binary ones, and CSV.
    """
    form = format_for(dst, format)
    if form is ResultsFormat.JELLY:
        data = delimit(encode_boolean(value, options=options))
    else:
        data = codec_of(form).boolean(value).encode()
    with open_output(dst) as out:
        out.write(data)


__all__ = ["encode_results", "format_for", "write_boolean", "write_results"]

"""Cases for readers of a stream, frame by frame, each freed after it was read: terms of every
factory, text, columns and patches.

Each function returns the :data:`~.comparison.Outcome` of one class, compiled or not; each
``…_case`` makes random input for one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    GenericFactory,
    Limits,
    Operation,
    OperationKind,
)
from jelly_plugins.codec.patch.columns import OperationColumns, PatchColumnDecoder
from jelly_plugins.codec.patch.decoder import PatchDecoder
from jelly_plugins.codec.rdf.decoder import Decoder
from jelly_plugins.codec.text.columns import ColumnDecoder, Columns
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.codec.text.transcoding import TextDecoder
from jelly_plugins.oxigraph.rows import RowFactory
from jelly_plugins.oxigraph.terms import OxigraphFactory
from jelly_plugins.rdflib.terms import RdflibFactory

from .comparison import Case, Outcome
from .lending import Rejection, lent
from .streams import limits_for

#: Makes the factory of a case; each case has its own.
Maker = Callable[[Limits], Any]

FACTORIES: Final[tuple[Maker, ...]] = (
    lambda _: GenericFactory(),
    lambda _: GenericFactory(),
    lambda _: OxigraphFactory(blank_nodes="keep"),
    lambda _: RowFactory(),
    lambda _: RdflibFactory(blank_nodes="keep"),
    lambda _: RdflibFactory(blank_nodes="keep", generalized=True),
)
#: Validators of text for an Oxigraph store; None for no validation.
VALIDATORS: Final[tuple[Maker | None, ...]] = (
    None,
    lambda _: OxigraphFactory(blank_nodes="keep"),
    lambda _: RowFactory(),
)


def _read(
    frames: list[bytes],
    decode: Callable[[bytes], Any],
    report: Callable[[], Any],
    finish: Callable[[], Any],
) -> Outcome:
    """Collect everything that is read from frames, up to an error."""
    events: list[Any] = []
    for frame in frames:
        made = lent(decode, frame)
        if isinstance(made, Rejection):
            return events, made.error
        events += (made, report())
    made = lent(finish)
    if isinstance(made, Rejection):
        return events, made.error
    return [*events, made], None


def terms(
    decoder_class: Callable[..., Any],
    frames: list[bytes],
    limits: Limits = DEFAULT_LIMITS,
    factory: Maker = FACTORIES[0],
) -> Outcome:
    """Read a stream as terms."""
    decoder = decoder_class(factory(limits), limits=limits)
    return _read(
        frames, decoder.decode, lambda: (decoder.options, decoder.inside_graph), decoder.finish
    )


def operations(
    decoder_class: Callable[..., Any],
    frames: list[bytes],
    limits: Limits = DEFAULT_LIMITS,
    factory: Maker = FACTORIES[0],
) -> Outcome:
    """Read a log as operations."""
    decoder = decoder_class(factory(limits), limits=limits)
    return _read(
        frames,
        decoder.decode,
        lambda: (decoder.options, decoder.inside_patch, decoder.next_frame),
        decoder.finish,
    )


def text(
    decoder_class: Callable[..., Any],
    frames: list[bytes],
    limits: Limits = DEFAULT_LIMITS,
    validator: Maker | None = None,
    notation: Notation = Notation.RDF_STAR,
) -> Outcome:
    """Read a stream as N-Triples or N-Quads."""
    decoder = decoder_class(notation, limits=limits, validator=validator and validator(limits))
    return _read(
        frames,
        lambda data: b"".join(decoder.decode(data)),
        lambda: (decoder.options, decoder.statements, decoder.last_frame),
        decoder.finish,
    )


def columns(
    decoder_class: Callable[..., Any], frames: list[bytes], settings: dict[str, Any]
) -> Outcome:
    """Read a stream as columns: return the batches, or for a rejected one the rows of the previous
    frames.
    """
    decoder = decoder_class(**settings)
    batches: list[Columns] = []
    for number, frame in enumerate(frames):
        error = lent(take_all, decoder, batches, frame)
        if error is not None:
            batches += decoder.flush()
            rows = [row for batch in batches for row in rows_of(batch)]
            # Full batches may include rows of the rejected frame.
            return [rows[: _statements_in(frames[:number])]], error.error
    made = lent(decoder.finish)
    if isinstance(made, Rejection):
        return [*batches, *decoder.flush()], made.error
    return [*batches, *made, decoder.options], None


def take_all(decoder: Any, batches: list[Any], data: bytes) -> None:
    """Decode a frame to columns, and append them to ``batches``."""
    batches.extend(decoder.decode(data))


def rows_of(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples of four."""
    graph = [None] * columns.rows if columns.graph is None else columns.graph.values()
    named = (columns.subject, columns.predicate, columns.object)
    return zip(*(column.values() for column in named), graph, strict=True)


def _statements_in(frames: list[bytes]) -> int:
    decoder = Decoder(GenericFactory())
    return sum(len(decoder.decode(frame).statements) for frame in frames)


def patch_columns(
    decoder_class: Callable[..., Any],
    frames: list[bytes],
    limits: Limits,
    validator: Maker | None,
    settings: dict[str, Any],
) -> Outcome:
    """Read a log as columns; for a rejected one return the operations of the previous frames."""
    decoder = decoder_class(validator=validator and validator(limits), limits=limits, **settings)
    batches: list[OperationColumns] = []
    for frame in frames:
        error = lent(take_all, decoder, batches, frame)
        if error is not None:
            batches += decoder.flush()
            rows = [row for batch in batches for row in operations_of(batch)]
            if set(settings) - {"notation"}:
                # Full batches may include rows of the rejected frame.
                del rows[_operations_in(frames[: decoder.next_frame]) :]
            return [rows], error.error
    state = (decoder.options, decoder.inside_patch, decoder.next_frame)
    made = lent(decoder.finish)
    if isinstance(made, Rejection):
        return [*batches, *decoder.flush(), state], made.error
    return [*batches, *made, state], None


def operations_of(columns: OperationColumns) -> Iterator[Operation]:
    """Yield the operations of columns, in order; terms are text."""
    others = list(columns.others)
    assert len(columns.adds) == columns.statements.rows
    for number, terms in enumerate(rows_of(columns.statements)):
        while others and others[0][0] == number:
            yield others.pop(0)[1]
        kind = OperationKind.ADD if columns.adds[number] else OperationKind.DELETE
        yield Operation(kind, tuple(term or "" for term in terms))
    assert all(place == columns.statements.rows for place, _ in others)
    yield from (row for _, row in others)


def _operations_in(frames: list[bytes]) -> int:
    decoder = PatchDecoder(GenericFactory())
    return sum(len(decoder.decode(frame).operations) for frame in frames)


# Cases

#: Makes the frames to read.
Frames = Callable[[random.Random], list[bytes]]


def terms_case(rng: random.Random, frames: Frames) -> Case:
    return Case(terms, Decoder, (frames(rng), limits_for(rng), rng.choice(FACTORIES)))


def text_case(rng: random.Random, frames: Frames) -> Case:
    given = (limits_for(rng), rng.choice(VALIDATORS), rng.choice(list(Notation)))
    return Case(text, TextDecoder, (frames(rng), *given))


def columns_case(rng: random.Random, frames: Frames) -> Case:
    settings = {**_bounds(rng), "limits": limits_for(rng), "notation": rng.choice(list(Notation))}
    return Case(columns, ColumnDecoder, (frames(rng), settings))


def operations_case(rng: random.Random, frames: Frames) -> Case:
    return Case(operations, PatchDecoder, (frames(rng), limits_for(rng), rng.choice(FACTORIES)))


def patch_columns_case(rng: random.Random, frames: Frames) -> Case:
    validator = None if rng.random() < 0.5 else lambda _: RowFactory()
    # The validator determines the notation of quoted triples.
    notation = rng.choice(list(Notation)) if validator is None else Notation.RDF_1_2
    settings = {**_bounds(rng), "notation": notation}
    limits = limits_for(rng) if validator is None else limits_for_validated(rng)
    return Case(patch_columns, PatchColumnDecoder, (frames(rng), limits, validator, settings))


def limits_for_validated(rng: random.Random) -> Limits:
    """Return limits for columns in which some terms get another text: the kernels measure these
    terms differently.
    """
    limits = limits_for(rng)
    return limits if limits.frame_bytes == DEFAULT_LIMITS.frame_bytes else DEFAULT_LIMITS


def _bounds(rng: random.Random) -> dict[str, Any]:
    return rng.choice(({}, {}, {"batch_rows": rng.randrange(1, 9)}, {"batch_bytes": 300}))

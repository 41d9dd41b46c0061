"""Compares the compiled kernel's codec of Jelly-Patch with its reference; see ``differential``.

Two sorts: decoding logs that were cut, flipped and spliced at random, and encoding operations of
which some cannot be written.

``python -m tests.fuzz.patch_differential CASES [SEED]`` runs as long as it is asked to.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    GenericFactory,
    Limits,
    Operation,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
)
from jelly_plugins.codec.operations import ABORT, BEGIN, COMMIT, END, Header, Namespace
from jelly_plugins.codec.patch_decoder import PatchDecoder
from jelly_plugins.codec.patch_encoder import PatchEncoder
from jelly_plugins.errors import JellyError
from jelly_plugins.patch import PatchReader

from ..shared_data import SHARED
from .comparison import Outcome, compare, describe_error, main
from .differential import Terms, limits_for, mutate

_ADD = OperationKind.ADD
_DELETE = OperationKind.DELETE


def decoded(decoder_class: Callable[..., Any], frames: list[bytes], limits: Limits) -> Outcome:
    """All that a decoder says of a stream."""
    decoder = decoder_class(GenericFactory(), limits=limits)
    events: list[Any] = []
    try:
        for frame in frames:
            events.append(decoder.decode(frame))
            events.append((decoder.options, decoder.inside_patch, decoder.next_frame))
        events.append(decoder.finish())
    except JellyError as error:
        return events, describe_error(error)
    return events, None


def compare_decoders(frames: list[bytes], limits: Limits = DEFAULT_LIMITS) -> Outcome:
    return compare(decoded, PatchDecoder, frames, limits)


def encoded(
    encoder_class: Callable[..., Any],
    options: PatchOptions,
    batches: list[list[Any]],
    settings: dict[str, Any],
) -> Outcome:
    """All that an encoder makes of batches of operations; one that is refused ends only its own."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, frame_rows=20, **settings)
    except JellyError as error:
        return made, describe_error(error)
    for batch in batches:
        try:
            made.append(encoder.add(batch))
        except JellyError as error:
            made.append(describe_error(error))
        made.append((encoder.inside_patch, encoder.pending))
    try:
        made.append(encoder.finish())
    except JellyError as error:
        made.append(describe_error(error))
    return made, None


def compare_encoders(options: PatchOptions, batches: list[list[Any]], **settings: Any) -> Outcome:
    return compare(encoded, PatchEncoder, options, batches, settings)


def random_options(rng: random.Random) -> PatchOptions:
    return PatchOptions(
        statement_type=rng.choice(list(PatchStatementType)),
        stream_type=rng.choice(list(PatchStreamType)),
        generalized_statements=rng.random() < 0.4,
        rdf_star=rng.random() < 0.6,
        max_name_table_size=rng.choice((8, 9, 12, 64, 4000)),
        max_prefix_table_size=rng.choice((0, 1, 2, 3, 16)),
        max_datatype_table_size=rng.choice((0, 1, 3, 16)),
    )


def random_batches(rng: random.Random, options: PatchOptions) -> list[list[Any]]:
    """Operations in batches, most of them where they may stand."""
    terms = Terms(rng)
    quads = options.statement_type is PatchStatementType.QUADS
    batches: list[list[Any]] = []
    inside = False
    before: tuple[Any, ...] | None = None
    for _ in range(rng.randrange(1, 8)):
        batch: list[Any] = []
        for _ in range(rng.randrange(16)):
            kind = rng.random()
            if kind < 0.75:
                before = terms.statement(4 if quads else 3, before)
                batch.append(Operation(rng.choice((_ADD, _DELETE)), before))
            elif kind < 0.82:
                graph = terms.any(3) if quads is (rng.random() < 0.97) else None
                iri = terms.iri() if rng.random() < 0.9 else rng.choice((None, terms.any(0)))
                row = rng.choice((OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE))
                batch.append(Operation(row, Namespace(terms.text(), iri, graph)))
            elif kind < 0.88:
                batch.append(Operation(OperationKind.HEADER, Header(terms.text(), terms.any(2))))
            elif rng.random() < 0.05:
                batch.append(rng.choice((BEGIN, COMMIT, ABORT, END)))
            elif inside:
                batch.append(rng.choice((COMMIT, ABORT)))
                inside = False
            else:
                batch.append(rng.choice((BEGIN, END)))
                inside = batch[-1] is BEGIN
        batches.append(batch)
    if rng.random() < 0.8:
        batches.append([COMMIT, END] if inside else [END])
    return batches


def made_stream(rng: random.Random) -> list[bytes]:
    """A log of ours, with nothing wrong in it yet but its end now and then."""
    options = random_options(rng)
    encoder = PatchEncoder(options, frame_rows=rng.choice((5, 20)))
    frames: list[bytes] = []
    for batch in random_batches(rng, options):
        for operation in batch:
            try:
                frames += encoder.add([operation])
            except JellyError:
                continue
    try:
        return frames + encoder.finish()
    except JellyError:
        return frames


@cache
def real_streams() -> list[list[bytes]]:
    """Logs that other tools wrote as text, where they are at hand, as Jelly-Patch."""
    streams = []
    for path in sorted((SHARED / "data/patch").glob("*.rdfp")):
        with PatchReader(path) as rows:
            operations = list(islice(rows, 120))
        if operations[-1] is not END:
            operations += [COMMIT, END]
        options = PatchOptions(rdf_star=True, generalized_statements=True)
        for frame_rows in (10, 60):
            encoder = PatchEncoder(options, frame_rows=frame_rows)
            try:
                streams.append(encoder.add(operations) + encoder.finish())
            except JellyError:
                # Triples, where the options say quads.
                encoder = PatchEncoder(
                    PatchOptions(rdf_star=True, statement_type=PatchStatementType.TRIPLES)
                )
                streams.append(encoder.add(operations) + encoder.finish())
    return streams


def damaged_stream(rng: random.Random) -> list[bytes]:
    streams = real_streams()

    def pick() -> list[bytes]:
        return made_stream(rng) if not streams or rng.random() < 0.7 else rng.choice(streams)

    return mutate(rng, pick(), pick())


def run(cases: int, seed: int) -> Iterator[Outcome]:
    """Compare the kernels on so many cases, of both sorts in turn."""
    for number in range(cases):
        rng = random.Random(f"patch/{seed}/{number}")
        if number % 3 < 2:
            yield compare_decoders(damaged_stream(rng), limits_for(rng))
        else:
            options = random_options(rng)
            yield compare_encoders(
                options,
                random_batches(rng, options),
                limits=limits_for(rng),
                continues=rng.random() < 0.2,
            )


if __name__ == "__main__":
    main(run)

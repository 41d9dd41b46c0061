"""Cases for encoders, whose input is freed after it was written: terms of every backend,
text in chunks, columns, operations and lines of operations.

Each function returns the :data:`~.comparison.Outcome` of one class, compiled or not; each
``…_case`` makes random input for one.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from jelly_plugins.codec import (
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PhysicalType,
    StreamOptions,
    describe,
)
from jelly_plugins.codec.common.positions import POSITIONS
from jelly_plugins.codec.common.terms import BlankNode, DefaultGraph, Iri, Literal, Triple
from jelly_plugins.codec.patch.encoder import PatchEncoder
from jelly_plugins.codec.rdf.encoder import Encoder
from jelly_plugins.codec.text.columns import ColumnEncoder, Columns
from jelly_plugins.codec.text.ntriples import Dialect, LineParser
from jelly_plugins.codec.text.transcoding import TextEncoder
from jelly_plugins.errors import JellyError
from jelly_plugins.oxigraph.terms import OxigraphFactory
from jelly_plugins.oxigraph.terms import describe as describe_oxigraph
from jelly_plugins.rdflib.terms import RdflibFactory, describe_node

from .comparison import Case, Outcome, describe_error
from .lending import Rejection, copied, lent
from .statements import (
    random_batches,
    random_options,
    random_patch_options,
    random_restarts,
    random_steps,
)
from .streams import limits_for
from .texts import random_columns, random_text

#: Backends of terms: the Describe function, and a factory that makes the terms.
BACKENDS: Final[tuple[tuple[Callable[..., Any], Any], ...]] = (
    *((describe, None),) * 4,
    (describe_oxigraph, OxigraphFactory(blank_nodes="keep")),
    (describe_node, RdflibFactory(blank_nodes="keep", generalized=True)),
)


def written(call: Callable[..., Any], *given: Any) -> Any:
    """Call with objects that have no other references; return the result or the error."""
    return lent(lambda: call(*pickle.loads(pickle.dumps(given))))


def statements(
    encoder_class: Callable[..., Any],
    options: StreamOptions,
    steps: list[tuple[Any, ...]],
    settings: dict[str, Any],
) -> Outcome:
    """Collect the output of an encoder for a series of calls, continuing after rejected ones."""
    try:
        encoder = encoder_class(options, namespaces=options.version != 1, frame_rows=20, **settings)
    except JellyError as error:
        return [], describe_error(error)
    made = [written(getattr(encoder, name), *arguments) for name, *arguments in steps]
    return [*made, lent(encoder.finish)], None


def operations(
    encoder_class: Callable[..., Any],
    options: PatchOptions,
    batches: list[list[Any]],
    settings: dict[str, Any],
) -> Outcome:
    """Collect the output of an encoder for batches of operations, beyond rejected ones."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, frame_rows=20, **settings)
    except JellyError as error:
        return made, describe_error(error)
    for batch in batches:
        made += (written(encoder.add, batch), (encoder.inside_patch, encoder.pending))
    return [*made, lent(encoder.finish)], None


def text(
    encoder_class: Callable[..., Any],
    options: StreamOptions,
    chunks: list[bytes],
    settings: dict[str, Any],
) -> Outcome:
    """Encode text to frames."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, frame_rows=20, **settings)
    except JellyError as error:
        return made, describe_error(error)
    for chunk in chunks:
        found = lent(encoder.feed, chunk)
        made += (found, encoder.statements)
        if isinstance(found, Rejection):
            return made, found.error
    found = lent(encoder.finish)
    return [*made, found], found.error if isinstance(found, Rejection) else None


def lines(
    encoder_class: Callable[..., Any],
    options: PatchOptions,
    chunks: list[tuple[OperationKind, bytes]],
    parsing: dict[str, Any],
    settings: dict[str, Any],
) -> Outcome:
    """Encode lines of operations to frames: the first half of the chunks as patches, the others as
    operations of one."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, frame_rows=20, **settings)
    except JellyError as error:
        return made, describe_error(error)
    quads = options.statement_type is PatchStatementType.QUADS
    parser = LineParser(**parsing, quads=quads)
    for number, (kind, chunk) in enumerate(chunks):

        def write(given: bytes, number: int = number, kind: OperationKind = kind) -> Any:
            if number >= len(chunks) // 2:
                return encoder.add_lines(kind, given, parser)
            parts = (given, b"") if kind is OperationKind.DELETE else (b"", given)
            return encoder.add_patch([("id", Iri(f"urn:{number}"))], *parts, parser)

        found = lent(write, chunk)
        made += (found, parser.count, encoder.inside_patch, encoder.pending)
        if isinstance(found, Rejection):
            return [*made, lent(encoder.finish)], found.error
        made.append(parser.line_ends)
    return [*made, lent(encoder.finish)], None


def columns(
    encoder_class: Callable[..., Any],
    options: StreamOptions,
    batches: list[Columns],
    settings: dict[str, Any],
) -> Outcome:
    """Encode columns to frames, continuing after rejected batches."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, frame_rows=20, **settings)
    except JellyError as error:
        return made, describe_error(error)
    rejected = None
    for batch in batches:
        found = lent(lambda batch=batch: encoder.add(_lent_columns(batch)))
        rejected = found.error if isinstance(found, Rejection) else rejected
        made.append(found)
    return [*made, lent(encoder.finish)], rejected


def _lent_columns(columns: Columns) -> Columns:
    """Copy columns with their buffers."""
    named = {}
    for name in POSITIONS:
        column = getattr(columns, name)
        if column is not None:
            buffers = ("offsets", "data", "validity")
            given = {each: getattr(column, each) for each in buffers}
            named[name] = replace(
                column,
                **{each: data and copied(data) for each, data in given.items()},
            )
    return replace(columns, **named)


# Terms of other backends


def of_backend(value: Any, factory: Any) -> Any:
    """Convert terms to those of a backend; terms that it rejects stay unchanged."""
    if factory is None:
        return value
    try:
        if isinstance(value, Iri):
            return factory.iri(value.value)
        if isinstance(value, BlankNode):
            return factory.blank_node(value.label)
        if isinstance(value, Literal):
            return factory.literal(value.lex, value.langtag, value.datatype)
        if isinstance(value, Triple) and type(value) is Triple:
            return factory.quoted_triple(*(of_backend(each, factory) for each in value))
        if isinstance(value, DefaultGraph):
            return factory.default_graph if isinstance(factory, OxigraphFactory) else value
    except (JellyError, ValueError, TypeError):
        return value
    if isinstance(value, list):
        return [of_backend(each, factory) for each in value]
    if type(value) is tuple:
        return tuple(of_backend(each, factory) for each in value)
    if isinstance(value, tuple):
        return type(value)(*(of_backend(each, factory) for each in value))
    return value


def flat(statement: Any) -> Any:
    """Convert a statement to a tuple; a backend's quoted triple is of another type."""
    return tuple(statement) if isinstance(statement, tuple) else statement


# Cases


def statements_case(rng: random.Random) -> Case:
    options = random_options(rng)
    takes_apart, factory = rng.choice(BACKENDS)
    steps = [
        (name, *([[of_backend(flat(each), factory) for each in batch] for batch in given]))
        if name == "add" and factory is not None
        else (name, *given)
        for name, *given in random_steps(rng, options)
    ]
    settings = {"limits": limits_for(rng), "describe": takes_apart, **random_restarts(rng)}
    return Case(statements, Encoder, (options, steps, settings))


def operations_case(rng: random.Random) -> Case:
    options = random_patch_options(rng)
    settings = {"limits": limits_for(rng), "continues": rng.random() < 0.2}
    return Case(operations, PatchEncoder, (options, random_batches(rng, options), settings))


def text_case(rng: random.Random) -> Case:
    settings = {
        **random_restarts(rng),
        "limits": limits_for(rng),
        "dialect": rng.choice(list(Dialect)),
        "generalized": rng.random() < 0.2,
        "relative_iris": rng.random() < 0.5,
    }
    options = random_options(rng)
    width = 3 if options.physical_type is PhysicalType.TRIPLES else 4
    return Case(text, TextEncoder, (options, random_text(rng, width), settings))


def lines_case(rng: random.Random) -> Case:
    options = random_patch_options(rng)
    limits = limits_for(rng)
    parsing = {
        "limits": limits,
        "dialect": rng.choice(list(Dialect)),
        "generalized": rng.random() < 0.2,
        "relative_iris": rng.random() < 0.5,
    }
    width = 4 if options.statement_type is PatchStatementType.QUADS else 3
    kinds = (OperationKind.ADD, OperationKind.DELETE)
    chunks = [(rng.choice(kinds), chunk) for chunk in random_text(rng, width, whole_lines=True)]
    settings = {"limits": limits}
    return Case(lines, PatchEncoder, (options, chunks, parsing, settings))


def columns_case(rng: random.Random) -> Case:
    options = random_options(rng)
    width = 3 if options.physical_type is PhysicalType.TRIPLES else 4
    if rng.random() < 0.05:
        width = 7 - width
    batches = [random_columns(rng, width) for _ in range(rng.randrange(1, 4))]
    settings = {
        **random_restarts(rng),
        "limits": limits_for(rng),
        "dialect": rng.choice((Dialect.RDF_STAR, *Dialect)),
        "generalized": rng.random() < 0.2,
        "relative_iris": rng.random() < 0.8,
    }
    return Case(columns, ColumnEncoder, (options, batches, settings))

"""Compares the compiled kernel with its reference on inputs that nobody would write by hand.

Decoding frames that were cut, flipped and spliced at random, to terms, to text and to columns, and
encoding statements, text and columns of which some cannot be written. Both kernels must give the
same events and the same bytes, or refuse with the same error at the same frame and row.

``python -m tests.fuzz.differential CASES [SEED]`` runs as long as it is asked to.
"""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, Final

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    BlankNode,
    FrameSplitter,
    GenericFactory,
    Iri,
    Limits,
    Literal,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
)
from jelly_plugins.codec.columns import Column, ColumnDecoder, ColumnEncoder, Columns
from jelly_plugins.codec.decoder import Decoder
from jelly_plugins.codec.encoder import Encoder
from jelly_plugins.codec.ntriples import (
    Dialect,
    Notation,
    parse_ntriples,
    statement_text,
    term_text,
)
from jelly_plugins.codec.text import TextDecoder, TextEncoder
from jelly_plugins.errors import JellyError
from jelly_plugins.oxigraph.terms import OxigraphFactory

from ..shared_data import ROOT, SHARED
from .comparison import Outcome, compare, describe_error, main

_TIGHT: Final = (
    Limits(frame_rows=20),
    Limits(frame_repeats=1),
    Limits(string_bytes=12),
    Limits(frame_expansion=200),
    Limits(lookup_characters=100),
    Limits(nesting=1),
    Limits(nesting=0, frame_bytes=300),
)


# Decoding


def decoded(decoder_class: Callable[..., Any], frames: list[bytes], limits: Limits) -> Outcome:
    """All that a decoder says of a stream."""
    decoder = decoder_class(GenericFactory(), limits=limits)
    events: list[Any] = []
    try:
        for frame in frames:
            events.append(decoder.decode(frame))
            events.append((decoder.options, decoder.inside_graph))
        decoder.finish()
    except JellyError as error:
        return events, describe_error(error)
    return events, None


def compare_decoders(frames: list[bytes], limits: Limits = DEFAULT_LIMITS) -> Outcome:
    return compare(decoded, Decoder, frames, limits)


# Encoding


def encoded(
    encoder_class: Callable[..., Any],
    options: StreamOptions,
    steps: list[tuple[Any, ...]],
    settings: dict[str, Any],
) -> Outcome:
    """All that an encoder makes of a series of steps; one that is refused does not end it."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, namespaces=options.version != 1, frame_rows=20, **settings)
    except JellyError as error:
        return made, describe_error(error)
    for name, *arguments in steps:
        try:
            made.append(getattr(encoder, name)(*arguments))
        except JellyError as error:
            made.append(describe_error(error))
    try:
        made.append(encoder.finish())
    except JellyError as error:
        made.append(describe_error(error))
    return made, None


def compare_encoders(
    options: StreamOptions, steps: list[tuple[Any, ...]], **settings: Any
) -> Outcome:
    return compare(encoded, Encoder, options, steps, settings)


#: How many streams of ours there are to start from.
_MADE: Final = 5000


class Terms:
    """Terms of every kind, few enough to meet again and odd enough to be refused now and then."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._pool: list[Any] = []

    def text(self) -> str:
        rng = self.rng
        sizes = (0, 1, 3, 3, 5, 8, 130)
        alphabet = "aab/#é€😀\ud800" if rng.random() < 0.02 else "aaab/#:é€😀"
        return "".join(rng.choices(alphabet, k=rng.choice(sizes)))

    def iri(self) -> Iri:
        rng = self.rng
        namespaces = ("http://a/", "http://b#", "urn:x:", "http://é/", "")
        return Iri(rng.choice(namespaces) + rng.choice((str(rng.randrange(40)), self.text())))

    def literal(self) -> Literal:
        rng = self.rng
        kind = rng.randrange(3)
        if kind == 0:
            return Literal(self.text())
        if kind == 1:
            return Literal(self.text(), rng.choice(("en", "de-AT", "")))
        return Literal(self.text(), None, f"urn:type{rng.randrange(6)}")

    def new(self, position: int, depth: int = 0) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.02:
            return rng.choice((None, "text", 7, (), DEFAULT_GRAPH, Triple, [1]))
        if kind < 0.08 and depth < 4:
            return Triple(*(self.any(inner, depth + 1) for inner in range(3)))
        if position == 3 and kind < 0.3:
            return DEFAULT_GRAPH
        if position != 1 and kind < 0.35:
            return BlankNode(rng.choice(("a", "b", self.text())))
        if (position == 2 and kind < 0.7) or kind > 0.99:
            return self.literal()
        return self.iri()

    def any(self, position: int, depth: int = 0) -> Any:
        if self._pool and self.rng.random() < 0.3:
            return self.rng.choice(self._pool)
        term = self.new(position, depth)
        self._pool.append(term)
        del self._pool[:-30]
        return term

    def statement(self, width: int, before: tuple[Any, ...] | None) -> tuple[Any, ...]:
        rng = self.rng
        if rng.random() < 0.01:
            width = 7 - width
        terms = [
            before[position]
            if before is not None and position < len(before) and rng.random() < 0.4
            else self.any(position)
            for position in range(width)
        ]
        return rng.choice((tuple, {3: Triple, 4: Quad}[width]._make))(terms)


def random_options(rng: random.Random) -> StreamOptions:
    return StreamOptions(
        physical_type=rng.choice(list(PhysicalType)),
        generalized_statements=rng.random() < 0.4,
        rdf_star=rng.random() < 0.6,
        max_name_table_size=rng.choice((8, 9, 12, 64, 4000)),
        max_prefix_table_size=rng.choice((0, 1, 2, 3, 16)),
        max_datatype_table_size=rng.choice((0, 1, 3, 16)),
        version=rng.choice((0, 1, 2)),
    )


def random_restarts(rng: random.Random) -> dict[str, Any]:
    """How often an encoder writes restart points."""
    return {"restart_every": rng.choice((1, 80, 400))} if rng.random() < 0.3 else {}


def random_steps(rng: random.Random, options: StreamOptions) -> list[tuple[Any, ...]]:
    """What may be done with an encoder: names of methods, with their arguments."""
    terms = Terms(rng)
    width = 3 if options.physical_type is PhysicalType.TRIPLES else 4
    steps: list[tuple[Any, ...]] = []
    before = None
    for _ in range(rng.randrange(1, 6)):
        kind = rng.random()
        if kind < 0.1:
            steps.append(("add_namespace", terms.text(), f"urn:{terms.text()}#"))
        elif kind < 0.2:
            steps.append(("flush", rng.choice(({}, {"key": b"value"}, {"": b""}))))
        elif kind < 0.25:
            steps.append(("start_graph", terms.any(3)))
        elif kind < 0.3:
            steps.append(("restart",))
        else:
            batch = []
            for _ in range(rng.randrange(12)):
                before = terms.statement(width, before)
                batch.append(before)
            steps.append(("add", batch))
    return steps


# Streams to start from


def made_stream(rng: random.Random) -> list[bytes]:
    """A stream of ours, with nothing wrong in it yet."""
    options = replace(random_options(rng), version=0)
    settings = random_restarts(rng)
    encoder = Encoder(options, namespaces=True, frame_rows=rng.choice((5, 20)), **settings)
    frames: list[bytes] = []
    for name, *arguments in random_steps(rng, options):
        try:
            made = getattr(encoder, name)(*arguments)
        except JellyError:
            continue
        if name in ("add", "restart"):
            frames += made
        elif name == "flush":
            frames.append(made)
    return frames + encoder.finish()


@cache
def made_stream_of(number: int) -> list[bytes]:
    """One of the made streams; to make one takes longer than to read it."""
    return made_stream(random.Random(f"made/{number}"))


def split(data: bytes) -> list[bytes]:
    splitter = FrameSplitter()
    return [*splitter.feed(data), *splitter.finish()]


@cache
def real_streams() -> list[list[bytes]]:
    """Our vectors and, where they are at hand, the official suite's streams and pieces of real
    files."""
    streams = []
    folders = (ROOT / "conformance/vectors", SHARED / "conformance/jelly-rdf")
    for path in sorted(path for folder in folders for path in folder.glob("**/*.jelly")):
        if path.stat().st_size < 20_000:
            try:
                streams.append(split(path.read_bytes()))
            except JellyError:
                # The suites have files that are not even framed.
                continue
    files = real_statements()
    for start in range(0, 2000, 40):
        for statements in files:
            if piece := statements[start : start + 40]:
                encoder = Encoder(StreamOptions(), frame_rows=40)
                streams.append(encoder.add(piece) + encoder.finish())
    return streams


def real_statements() -> list[list[Any]]:
    """The first statements of each real file."""
    found: list[list[Any]] = []
    weather = SHARED / "data/assist-iot-weather_100kt.jelly.gz"
    if weather.exists():
        decoder = Decoder(GenericFactory())
        frames = split(gzip.decompress(weather.read_bytes()))[:8]
        found.append([each for frame in frames for each in decoder.decode(frame).statements])
    for path in (SHARED / "data/so.nt.gz", SHARED / "data/qudt-vocab.nt.gz"):
        if path.exists():
            with gzip.open(path) as file:
                found.append(list(parse_ntriples(islice(file, 2000))))
    return found


def mutate(rng: random.Random, frames: list[bytes], other: list[bytes]) -> list[bytes]:
    """Damage a stream, in one place most often."""
    frames = list(frames)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        if not frames:
            break
        at = rng.randrange(len(frames))
        frame = bytearray(frames[at])
        pos = rng.randrange(len(frame) + 1)
        kind = rng.randrange(9)
        if kind == 0 and pos < len(frame):
            frame[pos] ^= 1 << rng.randrange(8)
        elif kind == 1 and pos < len(frame):
            frame[pos] = rng.choice((0, 1, 2, 8, 10, 16, 18, 26, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            frame[pos:pos] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 4)))
        elif kind == 3:
            del frame[pos : pos + rng.randrange(1, 6)]
        elif kind == 4:
            del frame[pos:]
        elif kind == 5:
            stop = min(len(frame), pos + rng.randrange(1, 60))
            frame[pos:pos] = frame[pos:stop]
        elif kind == 6 and other:
            piece = rng.choice(other)
            start = rng.randrange(len(piece) + 1)
            frame[pos:pos] = piece[start : start + rng.randrange(1, 80)]
        elif kind == 7 and other:
            frames.insert(at, rng.choice(other))
            continue
        elif kind == 8:
            frames[at : at + 1] = [bytes(frame[:pos]), bytes(frame[pos:])]
            continue
        frames[at] = bytes(frame)
    return frames


def damaged_stream(rng: random.Random) -> list[bytes]:
    streams = real_streams()

    def pick() -> list[bytes]:
        if not streams or rng.random() < 0.5:
            return made_stream_of(rng.randrange(_MADE))
        return rng.choice(streams)

    return mutate(rng, pick(), pick())


def limits_for(rng: random.Random) -> Limits:
    return rng.choice(_TIGHT) if rng.random() < 0.2 else DEFAULT_LIMITS


# Text


def decoded_text(
    decoder_class: Callable[..., Any],
    frames: list[bytes],
    limits: Limits,
    judge: Callable[[], Any] | None = None,
) -> Outcome:
    """A stream as N-Triples or N-Quads."""
    decoder = decoder_class(limits=limits, judge=judge and judge())
    events: list[Any] = []
    try:
        for frame in frames:
            events.append(b"".join(decoder.decode(frame)))
            events.append((decoder.options, decoder.inside_graph))
        decoder.finish()
    except JellyError as error:
        # Of two things that are wrong in a row, a judge that is asked less may name another.
        return events, describe_error(error)[1:3] if judge else describe_error(error)
    return events, None


def oxigraph_judge() -> Any:
    """What the text for an Oxigraph store is judged by."""
    return OxigraphFactory(blank_nodes="keep")


def compare_text_decoders(
    frames: list[bytes],
    limits: Limits = DEFAULT_LIMITS,
    judge: Callable[[], Any] | None = None,
) -> Outcome:
    return compare(decoded_text, TextDecoder, frames, limits, judge)


def encoded_text(
    encoder_class: Callable[..., Any],
    options: StreamOptions,
    pieces: list[bytes],
    settings: dict[str, Any],
) -> Outcome:
    """The frames that text comes to."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, frame_rows=20, **settings)
        for piece in pieces:
            made.append(encoder.feed(piece))
        made.append(encoder.finish())
    except JellyError as error:
        return made, describe_error(error)
    return made, None


def compare_text_encoders(options: StreamOptions, pieces: list[bytes], **settings: Any) -> Outcome:
    return compare(encoded_text, TextEncoder, options, pieces, settings)


def random_text(rng: random.Random) -> list[bytes]:
    """Lines of N-Triples or N-Quads in pieces, with something wrong in them now and then."""
    terms = Terms(rng)
    lines = []
    width = rng.choice((3, 3, 4))
    before = None
    for _ in range(rng.randrange(1, 12)):
        before = terms.statement(width, before)
        try:
            line = statement_text(before)  # type: ignore[arg-type]
        except (JellyError, TypeError, AttributeError):
            continue
        if rng.random() < 0.2:
            line = line.replace(" ", rng.choice(("", "\t", "  ")))
        if rng.random() < 0.2:
            line = line.replace("a", rng.choice(("\\u0061", "\\U00000061", "\\n", "\\uD800")))
        lines.append(line + rng.choice(("\n", "\n", "\n", "\r\n", "\r", "\n\n", " # c\n", "")))
    data = bytearray("".join(lines).encode("utf-8", "surrogatepass"))
    if data and rng.random() < 0.4:
        pos = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[pos] = rng.choice(b'<>"\\@^_:. \n\r\t#\xc3\xed\xff\x00Aa0')
        elif kind == 1:
            del data[pos : pos + rng.randrange(1, 4)]
        elif kind == 2:
            data[pos:pos] = rng.choice((b"@en", b"^^", b"<<", b">>", b"--ltr", b".", b"VERSION"))
        else:
            data[pos:pos] = data[pos : pos + 30]
    size = rng.choice((7, 100, 10_000))
    return [bytes(data[start : start + size]) for start in range(0, len(data), size)]


def text_case(rng: random.Random) -> Outcome:
    settings = {
        **random_restarts(rng),
        "limits": limits_for(rng),
        "dialect": rng.choice(list(Dialect)),
        "generalized": rng.random() < 0.2,
        "relative_iris": rng.random() < 0.5,
    }
    return compare_text_encoders(random_options(rng), random_text(rng), **settings)


# Columns


def decoded_columns(
    decoder_class: Callable[..., Any], frames: list[bytes], settings: dict[str, Any]
) -> Outcome:
    """A stream as columns: batches, or where it is refused, the rows of the frames before."""
    decoder = decoder_class(**settings)
    batches: list[Columns] = []
    try:
        for frame in frames:
            batches.extend(decoder.decode(frame))
        return [*batches, *decoder.finish(), decoder.options, decoder.inside_graph], None
    except JellyError as error:
        batches += decoder.flush()
        rows = [row for batch in batches for row in rows_of(batch)]
        return [row for row in rows if row[0] < decoder.next_frame], describe_error(error)


def rows_of(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Rows with the numbers of their frames."""
    numbers = [number for number, rows in columns.frames for _ in range(rows)]
    assert len(numbers) == columns.rows
    graph = [None] * columns.rows if columns.graph is None else columns.graph.values()
    named = (columns.subject, columns.predicate, columns.object)
    return zip(numbers, *(column.values() for column in named), graph, strict=True)


def compare_column_decoders(frames: list[bytes], **settings: Any) -> Outcome:
    return compare(decoded_columns, ColumnDecoder, frames, settings)


def encoded_columns(
    encoder_class: Callable[..., Any],
    options: StreamOptions,
    batches: list[Columns],
    settings: dict[str, Any],
) -> Outcome:
    """The frames that columns come to; one batch that is refused does not end them."""
    made: list[Any] = []
    try:
        encoder = encoder_class(options, frame_rows=20, **settings)
    except JellyError as error:
        return made, describe_error(error)
    refused = None
    for batch in batches:
        try:
            made.append(encoder.add(batch))
        except JellyError as error:
            refused = describe_error(error)
            made.append(refused)
    made.append(encoder.finish())
    return made, refused


def compare_column_encoders(
    options: StreamOptions, batches: list[Columns], **settings: Any
) -> Outcome:
    return compare(encoded_columns, ColumnEncoder, options, batches, settings)


def column_of(cells: list[bytes | None], skipped: int = 0) -> Column:
    """A column of cells, of which the first ones do not count."""
    offsets = [0]
    for cell in cells:
        offsets.append(offsets[-1] + len(cell or b""))
    bits = sum(1 << row for row, cell in enumerate(cells) if cell is not None)
    return Column(
        rows=len(cells) - skipped,
        offsets=struct.pack(f"<{len(offsets)}i", *offsets),
        data=b"".join(cell or b"" for cell in cells),
        validity=None if None not in cells else bits.to_bytes((len(cells) + 7) // 8, "little"),
        offset=skipped,
    )


def random_columns(rng: random.Random, width: int) -> Columns:
    """Columns with something wrong in them now and then."""
    terms = Terms(rng)
    rows: list[list[bytes | None]] = []
    before = None
    for _ in range(rng.randrange(20)):
        before = terms.statement(width, before)
        cells: list[bytes | None] = []
        for term in (*before, DEFAULT_GRAPH)[:4]:
            try:
                text = term_text(term)
            except JellyError:
                text = ""
            cell = text.encode("utf-8", "surrogatepass")
            kind = rng.random()
            if kind < 0.01:
                cell = bytearray(cell or b"x")
                cell[rng.randrange(len(cell))] = rng.choice(b'<>"\\@^_:. \n\t\xc3\xed\xff\x00Aa0')
                cell = bytes(cell)
            elif kind < 0.02:
                cell = (
                    rng.choice((b" ", b"")) + cell + rng.choice((b" ", b".", b"@en", b"\n", b"#"))
                )
            elif kind < 0.03:
                cell = cell.replace(b"a", rng.choice((b"\\u0061", b"\\U00000061", b"\\uD800")))
            cells.append(None if not cell and rng.random() < 0.5 else cell)
        rows.append(cells)
    skipped = rng.randrange(len(rows) + 1) if rng.random() < 0.3 else 0
    made = [column_of([row[position] for row in rows], skipped) for position in range(4)]
    if rng.random() < 0.05:
        at = rng.randrange(4)
        damage: list[dict[str, Any]] = [
            {"offsets": bytes(made[at].offsets)[: rng.randrange(1 + len(made[at].offsets))]},
            {"offsets": bytes(rng.choice((0, 0, 0, 1, 255)) for _ in made[at].offsets)},
            {"data": made[at].data[:-1]},
            {"validity": b""},
            {"rows": rng.choice((-1, made[at].rows + 1))},
            {"offset": rng.choice((-1, 1, 1 << 70))},
        ]
        made[at] = replace(made[at], **rng.choice(damage))
    subject, predicate, object_, graph = made
    return Columns(
        rows=len(rows) - skipped,
        subject=subject,
        predicate=predicate,
        object=object_,
        graph=None if width == 3 and rng.random() < 0.5 else graph,
    )


def column_case(rng: random.Random) -> Outcome:
    if rng.random() < 0.5:
        bounds = rng.choice(({}, {"batch_rows": rng.randrange(1, 9)}, {"batch_bytes": 300}))
        notation = rng.choice(list(Notation))
        limits = limits_for(rng)
        stream = damaged_stream(rng)
        return compare_column_decoders(stream, limits=limits, notation=notation, **bounds)
    options = random_options(rng)
    width = 3 if options.physical_type is PhysicalType.TRIPLES else 4
    if rng.random() < 0.05:
        width = 7 - width
    batches = [random_columns(rng, width) for _ in range(rng.randrange(1, 4))]
    return compare_column_encoders(
        options,
        batches,
        **random_restarts(rng),
        limits=limits_for(rng),
        dialect=rng.choice((Dialect.RDF_STAR, *Dialect)),
        generalized=rng.random() < 0.2,
        relative_iris=rng.random() < 0.8,
    )


def run(cases: int, seed: int) -> Iterator[Outcome]:
    """Compare the kernels on so many cases, of every sort in turn."""
    for number in range(cases):
        rng = random.Random(f"{seed}/{number}")
        sort = number % 8
        if sort < 3:
            yield compare_decoders(damaged_stream(rng), limits_for(rng))
        elif sort == 3:
            options = random_options(rng)
            steps = random_steps(rng, options)
            settings = {"limits": limits_for(rng), **random_restarts(rng)}
            yield compare_encoders(options, steps, **settings)
        elif sort == 4:
            judge = rng.choice((None, oxigraph_judge))
            yield compare_text_decoders(damaged_stream(rng), limits_for(rng), judge)
        elif sort == 5:
            yield text_case(rng)
        else:
            yield column_case(rng)


if __name__ == "__main__":
    main(run)

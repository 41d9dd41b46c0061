"""Data of the benchmarks: real files, if available, and a generated mix of terms."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from pyoxigraph import RdfFormat, parse, serialize

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    FrameSplitter,
    LogicalType,
    StreamOptions,
    TextDecoder,
    TextEncoder,
    delimit,
)
from jelly_plugins.io.sinks import open_output
from jelly_plugins.io.sources import Input
from jelly_plugins.io.streams import read

from ..shared_data import SHARED

#: Number of triples of the generated mix.
MIX: Final = 1_000_000
#: Number of triples of a random shape.
SHAPE: Final = 20_000
#: Options of all written streams: pyjelly's defaults.
OPTIONS: Final = StreamOptions(logical_type=LogicalType.FLAT_TRIPLES)

#: The real files, by their names in the tables.
FILES: Final = {
    "weather": "assist-iot-weather_100kt.jelly.gz",
    "so": "so.nt.gz",
    "qudt": "qudt-vocab.nt.gz",
}


class Data:
    """One set of triples in the forms that jobs use as input; each form is made once, when it is
    first used.

    :param name: its name in the tables.
    :param load: returns the data as Jelly or N-Triples.
    """

    def __init__(self, name: str, load: Callable[[], bytes]) -> None:
        self.name = name
        self._load = load

    @cached_property
    def _loaded(self) -> bytes:
        return self._load()

    @cached_property
    def _is_text(self) -> bool:
        return self._loaded[:1] in (b"<", b"_", b"#")

    @cached_property
    def jelly(self) -> bytes:
        """The data as a delimited flat stream."""
        if not self._is_text:
            return self._loaded
        return b"".join(encoded([self._loaded]))

    @cached_property
    def frames(self) -> list[bytes]:
        """The stream's frames, without delimiters."""
        splitter = FrameSplitter(limits=DEFAULT_LIMITS)
        return [*splitter.feed(self.jelly), *splitter.finish()]

    @cached_property
    def ntriples(self) -> bytes:
        """The data as N-Triples."""
        if self._is_text:
            return self._loaded
        decoder = TextDecoder()
        return b"".join(chunk for frame in self.frames for chunk in decoder.decode(frame))

    @cached_property
    def turtle(self) -> bytes:
        """The data as Turtle, written by pyoxigraph."""
        return serialize(parse(self.ntriples, RdfFormat.N_TRIPLES), format=RdfFormat.TURTLE) or b""

    @cached_property
    def statements(self) -> list[Any]:
        """The data in generic terms."""
        return list(read(self.jelly))

    @cached_property
    def count(self) -> int:
        """Number of triples, repeats included."""
        return sum(1 for _ in read(self.jelly))

    def forget(self) -> None:
        """Release all forms; they are made again when they are used."""
        for name in ("_loaded", "jelly", "frames", "ntriples", "turtle", "statements", "count"):
            self.__dict__.pop(name, None)


def encoded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Convert chunks of N-Triples to chunks of a delimited stream."""
    encoder = TextEncoder(OPTIONS)
    for chunk in chunks:
        yield from map(delimit, encoder.feed(chunk))
    yield from map(delimit, encoder.finish())


def from_file(path: Path, name: str | None = None) -> Data:
    """Use a file of Jelly or N-Triples, compressed or not."""

    def load() -> bytes:
        with Input(path) as source:
            return b"".join(source.chunks())

    return Data(name or path.name.split(".")[0], load)


def mix(count: int = MIX) -> Data:
    """Make typical triples: IRIs with several prefixes, all kinds of literals, blank nodes."""
    return Data(f"mix of {count:,}", lambda: gzip.decompress(mix_file(count).read_bytes()))


def mix_file(count: int) -> Path:
    """Return the mix as a file of N-Triples, which is made on first use."""
    return _cached(f"mix-{count}.nt.gz", lambda: mix_chunks(count))


def mix_stream(count: int) -> Path:
    """Return the mix as a file of Jelly."""
    # Uncompressed, so that decompression is not part of the measurement.
    return _cached(f"mix-{count}.jelly", lambda: encoded(_unpacked(mix_file(count))))


def _unpacked(path: Path) -> Iterator[bytes]:
    with Input(path) as source:
        yield from source.chunks()


def _cached(name: str, make: Callable[[], Iterator[bytes]]) -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # Change the number whenever the output of mix_chunks changes.
    path = root / "jelly-plugins-bench" / "1" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_output(path) as out:
            for chunk in make():
                out.write(chunk)
    return path


def mix_chunks(count: int) -> Iterator[bytes]:
    """Yield the lines of the mix, always the same ones, in chunks of some thousand."""
    lines = islice(_mix_lines(count), count)
    while chunk := "".join(islice(lines, 4096)):
        yield chunk.encode()


def _mix_lines(count: int) -> Iterator[str]:
    rng = random.Random(0)
    xsd = "http://www.w3.org/2001/XMLSchema#"
    namespaces = [
        "http://example.org/person/",
        "http://example.org/place/",
        "http://data.example.com/id/work#",
        "https://example.net/2026/event/",
        "urn:example:item:",
    ]
    predicates = [
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        "<http://www.w3.org/2000/01/rdf-schema#label>",
        *(f"<http://example.org/vocabulary#property{number}>" for number in range(40)),
    ]
    words = [f"word{number}" for number in range(1900)] + [f"größe{n} 寸法{n}" for n in range(100)]
    words += ['\\"quoted\\"', "two\\nlines", "back\\\\slash"]
    languages = ("en", "de", "fr", "pt-BR")

    def node() -> str:
        if rng.random() < 0.1:
            return f"_:b{rng.randrange(count // 20 + 1)}"
        return f"<{rng.choice(namespaces)}{rng.randrange(count // 8 + 1)}>"

    def value() -> str:
        kind = rng.random()
        if kind < 0.5:
            return node()
        if kind < 0.8:
            text = f'"{" ".join(rng.choices(words, k=rng.randrange(1, 8)))}"'
            return text if kind < 0.65 else f"{text}@{rng.choice(languages)}"
        if kind < 0.87:
            return f'"{rng.randrange(100_000)}"^^<{xsd}integer>'
        if kind < 0.94:
            return f'"{rng.randrange(10_000) / 100}"^^<{xsd}decimal>'
        return f'"20{rng.randrange(10, 27)}-01-{rng.randrange(1, 29):02}"^^<{xsd}date>'

    def about(subject: str) -> list[str]:
        return [
            f"{subject} {rng.choice(predicates)} {value()} .\n" for _ in range(rng.randrange(1, 12))
        ]

    return chain.from_iterable(about(node()) for _ in range(count))


def shape(seed: int, count: int = SHAPE) -> Data:
    """Make triples of a random shape: how long, how mixed and how often repeated their terms are.

    Each kind of term comes in one form per shape, so that its cost shows.
    """
    return Data(f"shape {seed}", lambda: "".join(_shape_lines(random.Random(seed), count)).encode())


def _shape_lines(rng: random.Random, count: int) -> Iterator[str]:
    namespaces = [
        f"http://example.org/{'part/' * rng.choice((0, 1, 8))}{number}{rng.choice('/#')}"
        for number in range(rng.choice((1, 5, 200, 5000)))
    ]
    names = rng.choice((10, 1000, count))
    blank = rng.choice((0.0, 0.1, 0.9))
    literal = rng.choice((0.1, 0.5, 0.95))
    predicates = [f"<{rng.choice(namespaces)}p{n}>" for n in range(rng.choice((2, 40, 1000)))]
    words = rng.choice(
        (["word", "longer-word"], ["größe", "寸法"], ['\\"quoted\\"', "two\\nlines"])
    )
    length = rng.choice((1, 8, 150))
    ending = rng.choice(("", "@en", "@pt-BR", "^^<http://www.w3.org/2001/XMLSchema#string>"))
    if rng.random() < 0.3:
        words, length = [str(number) for number in range(1000)], 1
        ending = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    run = rng.choice((1, 4, 20))

    def node() -> str:
        if rng.random() < blank:
            return f"_:b{rng.randrange(names)}"
        return f"<{rng.choice(namespaces)}{rng.randrange(names)}>"

    subject = ""
    for number in range(count):
        if number % run == 0:
            subject = node()
        value = node()
        if rng.random() < literal:
            value = f'"{" ".join(rng.choices(words, k=length))}"{ending}'
        yield f"{subject} {rng.choice(predicates)} {value} .\n"


def usual() -> list[Data]:
    """Return the default data of jobs."""
    files = {name: SHARED / "data" / file for name, file in FILES.items()}
    return [*(from_file(path, name) for name, path in files.items() if path.exists()), mix()]

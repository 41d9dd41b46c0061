"""What the benchmarks run on: real files, where they are at hand, and a made mix of terms."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    BlankNode,
    FrameSplitter,
    Iri,
    LogicalType,
    StreamOptions,
    TextDecoder,
    TextEncoder,
    Triple,
    delimit,
)
from jelly_plugins.codec import Literal as JellyLiteral
from jelly_plugins.codec.ntriples import statement_text
from jelly_plugins.sources import Input
from jelly_plugins.streams import read

from ..shared_data import SHARED

#: Triples of the made mix.
MIX = 1_000_000
#: Options of every stream that is written: those that pyjelly takes by default.
OPTIONS = StreamOptions(logical_type=LogicalType.FLAT_TRIPLES)


class Data:
    """One set of triples in the forms that jobs start from; each is made once, when first needed.

    :param name: how the table calls it.
    :param load: gives the data as Jelly, or as N-Triples.
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
        """A delimited flat stream."""
        if not self._is_text:
            return self._loaded
        out = io.BytesIO()
        encoder = TextEncoder(OPTIONS)
        for frame in (*encoder.feed(self._loaded), *encoder.finish()):
            out.write(delimit(frame))
        return out.getvalue()

    @cached_property
    def frames(self) -> list[bytes]:
        """The stream's frames, without delimiters."""
        splitter = FrameSplitter(limits=DEFAULT_LIMITS)
        return [*splitter.feed(self.jelly), *splitter.finish()]

    @cached_property
    def ntriples(self) -> bytes:
        """The same as N-Triples."""
        if self._is_text:
            return self._loaded
        decoder = TextDecoder()
        return b"".join(piece for frame in self.frames for piece in decoder.decode(frame))

    @cached_property
    def statements(self) -> list[Any]:
        """The same in generic terms."""
        return list(read(self.jelly))

    @cached_property
    def count(self) -> int:
        """Number of triples, repeats included."""
        return len(self.statements)


def from_file(path: Path) -> Data:
    """A file of Jelly or N-Triples, compressed or not."""

    def load() -> bytes:
        with Input(path) as source:
            return b"".join(source.pieces())

    return Data(path.name.split(".")[0], load)


def mix(count: int = MIX) -> Data:
    """Triples as they come: IRIs under several prefixes, all kinds of literals, blank nodes."""
    return Data(f"mix of {count:,}", lambda: gzip.decompress(_mix(count)))


def _mix(count: int) -> bytes:
    rng = random.Random(0)
    xsd = "http://www.w3.org/2001/XMLSchema#"
    namespaces = [f"http://example.org/{name}/" for name in ("person", "place", "work", "event")]
    predicates = [Iri(f"http://example.org/vocabulary#property{n}") for n in range(40)]
    words = [f"word{n}" for n in range(2000)]

    def node() -> Any:
        if rng.random() < 0.1:
            return BlankNode(f"b{rng.randrange(count // 20)}")
        return Iri(f"{rng.choice(namespaces)}{rng.randrange(count // 8)}")

    def value() -> Any:
        kind = rng.random()
        if kind < 0.5:
            return node()
        text = " ".join(rng.choices(words, k=rng.randrange(1, 8)))
        if kind < 0.65:
            return JellyLiteral(text)
        if kind < 0.8:
            return JellyLiteral(text, rng.choice(("en", "de", "fr")))
        if kind < 0.9:
            return JellyLiteral(str(rng.randrange(100_000)), None, f"{xsd}integer")
        return JellyLiteral(f"2026-01-{rng.randrange(1, 29):02}", None, f"{xsd}date")

    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
        made = 0
        while made < count:
            subject = node()
            for _ in range(min(rng.randrange(1, 12), count - made)):
                line = statement_text(Triple(subject, rng.choice(predicates), value()))
                file.write(f"{line}\n".encode())
                made += 1
    return out.getvalue()


def usual() -> list[Data]:
    """The data that jobs run on where nothing else is asked for."""
    paths = [
        SHARED / "data" / name
        for name in (
            "assist-iot-weather_100kt.jelly.gz",
            "so.nt.gz",
            "qudt-vocab.nt.gz",
        )
    ]
    return [*(from_file(path) for path in paths if path.exists()), mix()]

"""Look for data on which a job is slow, among generated data with many random settings.

``python -m tests.bench.cliffs [--settings 200] [--count 10000] [--jobs NAME ...] [--json FILE]``
prints a line for each job and setting: CPU time in nanoseconds for each statement and for each byte
of text, and our speed relative to the fastest peer. A summary lists figures that are slower than
the peer's or five times the job's median for each byte. ``--only N`` runs only setting N, and
``--from FILE`` prints the summary of figures written by ``--json``.

pyjelly is not included: it is the slowest peer in every row. CPU time is the sum for both threads
of a dump, the store's and the encoder's.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from jelly_plugins.codec import LogicalType, PhysicalType, StreamOptions

from .data import OPTIONS, Data
from .measure import Runs, measure
from .registry import Job, jobs

GROUPS: Final = ("codec", "columns", "oxigraph", "rdflib")
#: Number of rounds of each figure; the fastest is reported.
ROUNDS: Final = 2
#: A figure is a cliff if it exceeds the median for each byte by this factor.
CLIFF: Final = 5.0

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_TYPES: Final = ("integer", "decimal", "double", "date", "boolean", "dateTime", "token", "anyURI")
_LEXICAL: Final[tuple[Callable[[int], str], ...]] = (
    str,
    lambda number: f"{number}.5",
    lambda number: f"{number}.0E0",
    lambda number: f"2026-01-{number % 28 + 1:02}",
    lambda number: ("true", "false")[number % 2],
    lambda number: f"2026-01-{number % 28 + 1:02}T00:00:00Z",
    lambda number: f"word{number}",
    lambda number: f"http://example.org/{number}",
)
_SCRIPTS: Final = {
    "ascii": "abc def ",
    "latin": "größe é ",
    "cjk": "寸法の大きさ",
    "emoji": "🙂🚀 ",
}
_ESCAPES: Final = ('\\"', "\\n", "\\\\", "\\t")
#: From this number on, terms are always new.
_NEW: Final = 1 << 30


@dataclass(frozen=True)
class Settings:
    """Parameters of one set of data.

    :ivar subjects: number of different subjects; likewise ``predicates`` and so on.
    :ivar iri_length: characters of each IRI in addition to its number.
    :ivar new: the proportion of objects that are IRIs used once.
    :ivar literals: the proportion of objects that are literals; likewise the other proportions, of
        literals or of nodes.
    :ivar order: "subject" for consecutive statements with the same subject, "random", or "sorted"
        lines.
    :ivar copies: number of consecutive copies of each statement.
    """

    number: int
    subjects: int
    predicates: int
    objects: int
    graphs: int
    namespaces: int
    iri_length: int
    new: float
    literals: float
    literal_length: int
    script: str
    datatypes: float
    languages: float
    blank_nodes: float
    quoted: float
    escapes: float
    order: str
    copies: int

    @classmethod
    def of(cls, number: int) -> Settings:
        """The settings with a number, always the same."""
        rng = random.Random(number)

        def share(likely: float = 0.5) -> float:
            return round(rng.random(), 2) if rng.random() < likely else 0.0

        return cls(
            number=number,
            subjects=rng.choice((1, 20, 500, 5000, _NEW)),
            predicates=rng.choice((1, 8, 50, 1000, _NEW)),
            objects=rng.choice((1, 20, 1000, 20000, _NEW)),
            graphs=rng.choice((0, 0, 1, 20, 2000)),
            namespaces=rng.choice((1, 3, 20, 200, 3000)),
            iri_length=rng.choice((0, 10, 40, 120, 600)),
            new=share(0.3),
            literals=share(0.8),
            literal_length=rng.choice((0, 4, 20, 100, 1000, 8000)),
            script=rng.choice(tuple(_SCRIPTS)),
            datatypes=share(),
            languages=share(),
            blank_nodes=share(0.4),
            quoted=share(0.15),
            escapes=share(0.3),
            order=rng.choice(("subject", "random", "sorted")),
            copies=rng.choice((1, 1, 1, 2, 3)),
        )

    @property
    def options(self) -> StreamOptions:
        """The options of a stream of the data."""
        if self.graphs:
            return StreamOptions(
                physical_type=PhysicalType.QUADS,
                logical_type=LogicalType.FLAT_QUADS,
                rdf_star=bool(self.quoted),
            )
        return StreamOptions(logical_type=OPTIONS.logical_type, rdf_star=bool(self.quoted))

    @property
    def is_standard(self) -> bool:
        """Whether rdflib's N-Triples parser and its Graph can hold the data."""
        return not self.graphs and not self.quoted

    def text(self, count: int) -> bytes:
        """Return the data as N-Triples or N-Quads.

        :param count: the number of statements, copies included.
        """
        statements = list(islice(self._lines(), count // self.copies))
        if self.order == "random":
            random.Random(self.number).shuffle(statements)
        elif self.order == "sorted":
            statements.sort()
        return "".join(line for line in statements for _ in range(self.copies)).encode()

    def _lines(self) -> Iterator[str]:
        rng = random.Random(self.number)
        filler = "x" * self.iri_length
        word = _SCRIPTS[self.script]
        content = (word * (self.literal_length // len(word) + 1))[: self.literal_length]

        def iri(kind: str, number: int) -> str:
            return f"<http://ns{number % self.namespaces}.example/{filler}/{kind}{number}>"

        def node(kind: str, most: int) -> str:
            number = rng.randrange(most)
            return f"_:b{number}" if rng.random() < self.blank_nodes else iri(kind, number)

        def literal() -> str:
            number = rng.randrange(self.objects)
            if rng.random() < self.datatypes:
                at = number % len(_TYPES)
                return f'"{_LEXICAL[at](number)}"^^<{_XSD}{_TYPES[at]}>'
            escape = rng.choice(_ESCAPES) if rng.random() < self.escapes else ""
            tag = f"@{('en', 'de', 'pt-BR')[number % 3]}" if rng.random() < self.languages else ""
            return f'"{content}{escape}{number}"{tag}'

        def value() -> str:
            if rng.random() < self.literals:
                return literal()
            if rng.random() < self.quoted:
                return f"<<( {iri('s', number())} {iri('p', 1)} {literal()} )>>"
            return node("o", _NEW if rng.random() < self.new else self.objects)

        def number() -> int:
            return rng.randrange(self.objects)

        while True:
            subject = node("s", self.subjects)
            for _ in range(rng.randrange(1, 10)):
                graph = f" {iri('g', rng.randrange(self.graphs))}" if self.graphs else ""
                predicate = iri("p", rng.randrange(self.predicates))
                yield f"{subject} {predicate} {value()}{graph} .\n"


@dataclass(frozen=True)
class Figure:
    """The time of a job on data with some settings.

    :ivar statement: nanoseconds of CPU time for a statement; ``byte`` likewise for a byte of text.
    :ivar share: our speed relative to the fastest peer; None without a peer.
    """

    job: str
    settings: int
    statement: float
    byte: float
    share: float | None


def figures(settings: Settings, count: int, wanted: list[Job]) -> Iterator[Figure]:
    """Measure jobs on data with some settings."""
    data = Data(f"settings {settings.number}", lambda: settings.text(count), settings.options)
    size = len(data.ntriples)
    for job in wanted:
        if job.group == "rdflib" and not settings.is_standard:
            continue
        made = job.make(data)
        runs = made if isinstance(made, Runs) else Runs(made)
        kept = {
            who: run
            for who, run in runs.runs.items()
            if not who.startswith("pyjelly") and who != "ours, Python codec"
        }
        found = measure(Runs(kept, close=runs.close), ROUNDS, time.process_time)
        ours, *peers = (min(values) for values in found.values())
        yield Figure(
            job.name,
            settings.number,
            ours / (runs.count or data.count) * 1e9,
            ours / size * 1e9,
            min(peers) / ours if peers else None,
        )


def summary(found: list[Figure]) -> Iterator[str]:
    """Yield lines with the figures that are slower than the peer's or far from the job's median."""
    by_job: dict[str, list[Figure]] = {}
    for figure in found:
        by_job.setdefault(figure.job, []).append(figure)
    head = "ns/{0}: least, median, most"
    yield " | ".join(
        ["job", head.format("statement"), head.format("byte"), "share of the peer: least, median"]
    )
    for job, each in by_job.items():
        shares = [figure.share for figure in each if figure.share is not None]
        beside = f"{min(shares):.2f}, {statistics.median(shares):.2f}" if shares else "-"
        yield " | ".join(
            [
                job,
                *(
                    _range([getattr(figure, name) for figure in each])
                    for name in ("statement", "byte")
                ),
                beside,
            ]
        )
    medians = {
        job: statistics.median(figure.byte for figure in each) for job, each in by_job.items()
    }
    slower = [figure for figure in found if figure.share is not None and figure.share < 1]
    yield f"\n{len(slower)} of {len(found)} are slower than their peer; the worst:"
    yield from map(_line, sorted(slower, key=lambda figure: figure.share or 0)[:20])
    cliffs = [figure for figure in found if figure.byte > CLIFF * medians[figure.job]]
    yield f"\n{len(cliffs)} take {CLIFF:g} times the median of their job for each byte; the worst:"
    yield from map(
        _line, sorted(cliffs, key=lambda figure: -figure.byte / medians[figure.job])[:20]
    )


def _range(values: list[float]) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{low:.3g}, {middle:.3g}, {high:.3g}"


def _line(figure: Figure) -> str:
    share = "no peer" if figure.share is None else f"{figure.share:.2f} of the peer"
    return (
        f"{figure.job} | {figure.statement:,.0f} ns/statement | {figure.byte:.2f} ns/byte | "
        f"{share} | {Settings.of(figure.settings)}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--settings", type=int, default=200)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--only", type=int, metavar="N")
    parser.add_argument("--jobs", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)
    found: list[Figure] = []
    if asked.source:
        found = [Figure(**each) for each in json.loads(asked.source.read_text())]
    else:
        wanted = [
            job
            for job in jobs().values()
            if job.group in GROUPS
            and job.takes_data
            # RDF/XML cannot express the predicates of some settings.
            and job.name != "rdf-xml-to-graph"
            and (not asked.jobs or job.name in asked.jobs)
        ]
        numbers = range(asked.settings) if asked.only is None else [asked.only]
        for number in numbers:
            for figure in figures(Settings.of(number), asked.count, wanted):
                print(_line(figure), flush=True)
                found.append(figure)
    if asked.json:
        rows: list[dict[str, Any]] = [asdict(figure) for figure in found]
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    print("\n".join(summary(found)))


if __name__ == "__main__":
    main()

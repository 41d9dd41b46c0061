"""The demo: a small real file from Jelly to rdflib and Oxigraph, a query, and back to Jelly.

The file is shipped with the package; ``data/README.md`` names its source.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from ..errors import MissingExtraError

#: The smallest, mean and largest value of everything that was measured, and its unit.
QUERY: Final = """\
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX om: <http://www.ontology-of-units-of-measure.org/resource/om-2/>
SELECT ?property ?unit (MIN(?value) AS ?least) (AVG(?value) AS ?mean) (MAX(?value) AS ?most)
WHERE {
  ?observation sosa:observedProperty ?property .
  ?result sosa:isResultOf ?observation ; om:hasNumericalValue ?value ; om:hasUnit ?unit .
}
GROUP BY ?property ?unit ORDER BY ?property
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A completed step.

    :ivar what: what it was, as code.
    :ivar count: number of statements, or of rows of a query's result.
    :ivar unit: what was counted.
    :ivar seconds: how long it took.
    :ivar table: a query's result, with its header.
    """

    what: str
    count: int
    unit: str
    seconds: float
    table: tuple[tuple[str, ...], ...] = ()

    @property
    def rate(self) -> float:
        """Of what was counted, per second."""
        return self.count / max(self.seconds, 1e-9)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The result of the demo.

    :ivar size: bytes of the file at the start.
    :ivar copy_size: bytes of the file at the end.
    :ivar same: whether the file at the end has the same statements as the store.
    """

    steps: tuple[Step, ...]
    size: int
    copy_size: int
    same: bool


def demonstrate(on_step: Callable[[Step], object] | None = None) -> Demonstration:
    """Parse, load, query and dump the file, in a temporary folder; check the result.

    :param on_step: called after each step.
    :raises MissingExtraError: rdflib or pyoxigraph is not installed.

    >>> demonstrate().same
    True
    """
    try:
        import rdflib
        from pyoxigraph import Store
    except ImportError as error:
        raise MissingExtraError.of(
            "the demo needs rdflib and Oxigraph", "rdflib,oxigraph"
        ) from error
    from ..oxigraph import dump, load
    from ..rdflib import register

    register()
    steps: list[Step] = []

    def step(what: str, unit: str, action: Callable[[], Any]) -> Any:
        started = perf_counter()
        value = action()
        seconds = perf_counter() - started
        table = value if isinstance(value, tuple) else ()
        count = len(table) - 1 if table else value
        steps.append(Step(what, count, unit, seconds, table))
        if on_step is not None:
            on_step(steps[-1])
        return value

    with as_file(files("jelly_plugins") / "data" / "demo.jelly") as source, _folder() as folder:
        # What a process does once, such as imports, is not timed.
        rdflib.Graph().parse(source, format="jelly")
        load(Store(), source)
        graph = rdflib.Graph()
        step(
            'Graph().parse("demo.jelly")',
            "distinct triples in rdflib",
            lambda: len(graph.parse(source, format="jelly")),
        )
        store = Store(folder / "store")
        step(
            'load(Store("store"), "demo.jelly")',
            "statements into Oxigraph",
            lambda: load(store, source),
        )
        step("store.query(…)", "rows: what the weather station measured", lambda: _ask(store))
        copy = folder / "copy.jelly"
        step('dump(store, "copy.jelly")', "statements back to Jelly", lambda: dump(store, copy))
        again = Store()
        step(
            'load(Store(), "copy.jelly")',
            "statements, read again to compare",
            lambda: load(again, copy),
        )
        same = set(store) == set(again) and len(store) == len(graph)
        sizes = source.stat().st_size, copy.stat().st_size
    return Demonstration(tuple(steps), *sizes, same)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="jelly-demo-") as name:
        yield Path(name)


def _ask(store: Any) -> tuple[tuple[str, ...], ...]:
    rows = [("measured", "least", "mean", "most", "unit")]
    for solution in store.query(QUERY):
        least, mean, most = (
            f"{float(solution[name].value):g}" for name in ("least", "mean", "most")
        )
        rows.append(
            (_last(solution["property"].value), least, mean, most, _last(solution["unit"].value))
        )
    return tuple(rows)


def _last(iri: str) -> str:
    """The local name of an IRI."""
    return iri[max(iri.rfind("/"), iri.rfind("#")) + 1 :]

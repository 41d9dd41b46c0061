"""``jelly demo``: a small real file from Jelly to rdflib and Oxigraph, a query, and back to Jelly.

The file is in the package; ``data/README.md`` names its source.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from click.exceptions import Exit

from ..lazy import library
from . import console

#: The smallest, mean and largest value of everything that was measured, and its unit.
QUERY: Final = """\
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX om: <http://www.ontology-of-units-of-measure.org/resource/om-2/>
SELECT ?measured (MIN(?value) AS ?least) (AVG(?value) AS ?mean) (MAX(?value) AS ?most) ?unit
WHERE {
  ?observation sosa:observedProperty ?property .
  ?result sosa:isResultOf ?observation ; om:hasNumericalValue ?value ; om:hasUnit ?of .
  BIND (REPLACE(STR(?property), "^.*[/#]", "") AS ?measured)
  BIND (REPLACE(STR(?of), "^.*[/#]", "") AS ?unit)
}
GROUP BY ?measured ?unit ORDER BY ?measured
"""


def demo() -> None:
    """Parse, load, query and dump a small real file, timed.

    Imports are not timed. Works in a temporary folder, without network, server or configuration.

    $ jelly demo
    """
    from ..codec import native

    print("Seven minutes of a weather station in Warsaw (ASSIST-IoT weather, CC BY 4.0)\n")
    with (
        as_file(files("jelly_plugins") / "data" / "demo.jelly") as source,
        tempfile.TemporaryDirectory(prefix="jelly-demo-") as folder,
    ):
        same = _demonstrate(source, Path(folder))
    if not same:
        print("\nThe copy differs from the store.")
        raise Exit(1)
    print("\nThe copy is equal to the store.")
    if not native:
        print(f"\n{console.PYTHON_KERNEL}")


def _demonstrate(source: Path, folder: Path) -> bool:
    """Parse, load, query and dump a file; return whether the copy has its statements."""
    rdflib = library("rdflib", "the demo", "rdflib")
    Store = library("pyoxigraph", "the demo", "oxigraph").Store  # noqa: N806
    from ..oxigraph import dump, load
    from ..rdflib import register

    register()
    # What a process does once, such as imports, is not timed.
    rdflib.Graph().parse(source, format="jelly")
    load(Store(), source)
    graph, store, again = rdflib.Graph(), Store(folder / "store"), Store()
    copy = folder / "copy.jelly"
    steps: list[tuple[str, str, Callable[[], Any]]] = [
        (
            'Graph().parse("demo.jelly")',
            "distinct triples in rdflib",
            lambda: len(graph.parse(source, format="jelly")),
        ),
        (
            'load(Store("store"), "demo.jelly")',
            "statements into Oxigraph",
            lambda: load(store, source),
        ),
        ("store.query(…)", "rows: what the weather station measured", lambda: _ask(store)),
        ('dump(store, "copy.jelly")', "statements back to Jelly", lambda: dump(store, copy)),
        (
            'load(Store(), "copy.jelly")',
            "statements, read again to compare",
            lambda: load(again, copy),
        ),
    ]
    for what, unit, action in steps:
        started = perf_counter()
        done = action()
        seconds = max(perf_counter() - started, 1e-9)
        count = len(done) if isinstance(done, list) else done
        speed = f"{seconds * 1000:7,.0f} ms {count / seconds:9,.0f}/s"
        print(f"{what:<36}{count:6,} {unit:<40}{speed}")
        if isinstance(done, list):
            console.print_table(["measured", "least", "mean", "most", "unit"], iter(done))
    return set(store) == set(again) and len(store) == len(graph)


def _ask(store: Any) -> list[list[str]]:
    numbers = ("least", "mean", "most")
    return [
        [
            each["measured"].value,
            *(f"{float(each[name].value):g}" for name in numbers),
            each["unit"].value,
        ]
        for each in store.query(QUERY)
    ]

"""Run cases of Jelly-SPARQL and check the results. ``README.md`` describes the comparisons."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from jelly_plugins.codec import BlankNode, Iri, Literal, describe
from jelly_plugins.sparql import ResultsFormat, read_results, write_results

from .adapters import Adapter
from .checks import check_rejected
from .manifest import Case
from .outcome import FailedError


def check_results(case: Case, adapter: Adapter) -> None:
    """Check that the stream has the expected variables and solutions, in order, also after writing
    it again.
    """
    del adapter
    [source] = case.actions
    [result] = case.results
    expected = json.loads(result.read_text("utf-8"))
    found = _read(source)
    if "boolean" in expected:
        if found[0] is not expected["boolean"]:
            raise FailedError(f"the result is {found[0]}, not {expected['boolean']}")
        return
    names = expected["head"]["vars"]
    solutions = [
        tuple(_term(row[name]) if name in row else None for name in names)
        for row in expected["results"]["bindings"]
    ]
    if found != (None, names, solutions):
        raise FailedError(f"{found} instead of {names}, {solutions}")
    file = io.BytesIO()
    write_results(names, solutions, file, format=ResultsFormat.JELLY, describe=describe)
    if _read(file.getvalue()) != found:
        raise FailedError("what is written differs from what was read")


def reject_results(case: Case, adapter: Adapter) -> None:
    """Check that the stream is rejected, at the expected frame."""
    del adapter
    check_rejected(case, _read)


def _read(source: Path | bytes) -> tuple[Any, ...]:
    with read_results(source, format=ResultsFormat.JELLY) as results:
        return results.boolean, results.variables, list(results)


def _term(value: dict[str, str]) -> Any:
    if value["type"] == "uri":
        return Iri(value["value"])
    if value["type"] == "bnode":
        return BlankNode(value["value"])
    return Literal(value["value"], value.get("xml:lang"), value.get("datatype"))

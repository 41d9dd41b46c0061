"""The command line of the runner."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

VECTORS: Final = Path(__file__).resolve().parent / "vectors"
ADAPTERS: Final = ("generic", "rdflib", "oxigraph")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m conformance",
        description="Run conformance suites of Jelly-RDF; without --suite, our own vectors.",
    )
    parser.add_argument(
        "--suite",
        action="append",
        type=Path,
        metavar="DIR",
        help="a folder with manifests in it or below it; may be repeated",
    )
    parser.add_argument("--adapter", choices=ADAPTERS, default="generic", help="whose terms to use")
    parser.add_argument("--kernel", choices=("native", "python"), help="which codec must run")
    parser.add_argument("--earl", type=Path, metavar="FILE", help="write an EARL report as Turtle")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suites; return 0 if nothing failed and something passed, 1 otherwise, and 2 if they
    cannot be run.
    """
    options = arguments(argv)
    if options.kernel == "python":
        os.environ["JELLY_PURE_PYTHON"] = "1"
    # Import the package only now, with the requested kernel.
    from jelly_plugins import native
    from jelly_plugins.errors import MissingExtraError

    from .adapters import get_adapter
    from .manifest import ManifestError, read_suite
    from .outcome import Status
    from .run import run_case

    if options.kernel is not None and (options.kernel == "native") is not native:
        running = "compiled" if native else "Python"
        print(f"error: the {running} kernel runs, not {options.kernel}", file=sys.stderr)
        return 2
    # rdflib warns of each unusual literal and IRI, of which the suites have many.
    logging.getLogger("rdflib.term").setLevel(logging.CRITICAL)
    try:
        adapter = get_adapter(options.adapter)
        cases = [case for suite in options.suite or [VECTORS] for case in read_suite(suite)]
    except (ManifestError, MissingExtraError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2

    results = [(case, run_case(case, adapter)) for case in cases]
    for case, outcome in results:
        if outcome.status is not Status.PASSED:
            print(f"{outcome.status}: {case.name}: {outcome.reason}")
    if options.earl is not None:
        from .earl import report

        options.earl.write_text(report(results, adapter.name), encoding="utf-8")
    counts = Counter(outcome.status for _, outcome in results)
    print(", ".join(f"{counts[status]} {status}" for status in Status))
    return 0 if counts[Status.PASSED] and not counts[Status.FAILED] else 1


if __name__ == "__main__":
    sys.exit(main())

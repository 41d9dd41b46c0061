"""Compare the compiled kernel with its reference on random inputs.

All readers and writers run on streams whose frames depend on earlier ones, on frames that were cut,
flipped and spliced at random, and on statements, text and columns, some of which cannot be written.
The bytes of an argument are freed after the call (see ``lending``). Both kernels must give the same
output, or raise the same error with the same type, message and position.

``python -m tests.fuzz.differential CASES [SEED [SORT]]`` runs a number of cases; ``SORT`` is a sort
of cases (``leaning.text`` for instance), or the start of its name. The command continues after
cases that fail, and reports them. The cases run in a separate process, under Python's debug
allocator, which overwrites freed memory. If the process crashes, the command reports the case.
"""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from . import jena, readers, writers
from .comparison import Case, Outcome
from .streams import damaged_log, damaged_stream, leaning, leaning_in_log

#: Readers, and how often each is chosen.
_READERS: Final[list[tuple[str, Any, int]]] = [
    ("terms", readers.terms_case, 2),
    ("text", readers.text_case, 3),
    ("columns", readers.columns_case, 1),
]
_PATCH_READERS: Final[list[tuple[str, Any, int]]] = [
    ("operations", readers.operations_case, 2),
    ("patch_columns", readers.patch_columns_case, 2),
]

#: All sorts of cases, each as often as it occurs here: dependent streams, other streams, and output
#: of writers.
SORTS: Final[dict[str, tuple[Callable[[random.Random], Case], int]]] = {
    **{
        f"{kind}.{name}": (partial(case_of, frames=frames), often)
        for kind, streams, logs in (
            ("leaning", leaning, leaning_in_log),
            ("broken", damaged_stream, damaged_log),
        )
        for frames, found in ((streams, _READERS), (logs, _PATCH_READERS))
        for name, case_of, often in found
    },
    "written.statements": (writers.statements_case, 2),
    "written.operations": (writers.operations_case, 2),
    "written.text": (writers.text_case, 2),
    "written.lines": (writers.lines_case, 1),
    "written.columns": (writers.columns_case, 2),
    "jena.text": (jena.text_case, 3),
    "jena.lines": (jena.lines_case, 2),
}
_TURNS: Final = [name for name, (_, often) in SORTS.items() for _ in range(often)]
#: rdflib warns of literals that are not valid for their datatype.
_PYTHON: Final = (sys.executable, "-W", "ignore", "-X", "faulthandler")
_COMMAND: Final = (*_PYTHON, "-m", "tests.fuzz.differential")
#: Maximum number of differences that are shown in full.
_SHOWN: Final = 100


def sort_of(number: int, wanted: str = "") -> str:
    """Return the sort of a case.

    :param wanted: a prefix of the sort's name.
    """
    names = [name for name in _TURNS if name.startswith(wanted)]
    return names[number % len(names)]


def case(number: int, seed: int, wanted: str = "") -> Outcome:
    """Compare the kernels on one case."""
    name = sort_of(number, wanted)
    return SORTS[name][0](random.Random(f"{name}/{seed}/{number}")).compare()


def run(cases: int, seed: int, wanted: str = "") -> Iterator[Outcome]:
    """Compare the kernels on a number of cases, alternating between the sorts."""
    # rdflib warns of literals that are not valid for their datatype.
    logging.getLogger("rdflib.term").setLevel(logging.ERROR)
    return (case(number, seed, wanted) for number in range(cases))


def _run_here(cases: int, seed: int, wanted: str, progress: str, first: int) -> None:
    """Run cases, write the current one to a file, and report the progress."""
    logging.getLogger("rdflib.term").setLevel(logging.ERROR)
    with open(progress, "r+b", buffering=0) as noted:
        _, rejected, different = map(int, noted.read().split())
        for number in range(first, cases):
            os.pwrite(noted.fileno(), b"%20d %20d %20d" % (number, rejected, different), 0)
            try:
                _, error = case(number, seed, wanted)
                rejected += error is not None
            except Exception as error:
                different += 1
                if different <= _SHOWN:
                    name = sort_of(number, wanted)
                    print(f"case {number} of seed {seed} ({name}):", flush=True)
                    if not isinstance(error, AssertionError):
                        traceback.print_exc(file=sys.stdout)
                    print(f"  {error}"[:3000], flush=True)
            if number % 10_000 == 9_999 or number == cases - 1:
                print(
                    f"{number + 1} cases, {rejected} rejected by both, {different} different",
                    flush=True,
                )
    sys.exit(different > 0)


def supervise(cases: int, seed: int = 0, wanted: str = "") -> bool:
    """Run cases in a separate process, and start another after a crash.

    :return: whether all outcomes agreed and no process crashed.
    """
    clean = True
    first = 0
    # The file keeps the current case and the counts if the process crashes.
    with tempfile.NamedTemporaryFile() as progress:
        progress.write(b"0 0 0")
        progress.flush()
        while first < cases:
            child = subprocess.run(
                [
                    *_COMMAND,
                    *map(str, (cases, seed, wanted, progress.name, first)),
                ],
                env={"PYTHONMALLOC": "debug", **os.environ},
                check=False,
            )
            if child.returncode in (0, 1):
                return clean and child.returncode == 0
            clean = False
            progress.seek(0)
            at = int(progress.read().split()[0])
            name = sort_of(at, wanted)
            print(f"case {at} of seed {seed} ({name}): died with {child.returncode}", flush=True)
            first = at + 1
    return clean


def main() -> None:
    given = sys.argv[1:]
    cases, seed = int(given[0]), int(given[1]) if len(given) > 1 else 0
    wanted = given[2] if len(given) > 2 else ""
    if len(given) > 3:
        _run_here(cases, seed, wanted, given[3], int(given[4]))
    sys.exit(not supervise(cases, seed, wanted))


if __name__ == "__main__":
    main()

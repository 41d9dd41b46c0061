"""Results in several threads, and sources that read from their own reader: an error or the right
result, never the end of the process.
"""

from __future__ import annotations

import pytest

from ..programs import run

#: Runs the function of a program for each format, and solutions and frames.
_BEGINNING = """
import asyncio, io, sys, threading
from jelly_plugins import Literal
from jelly_plugins.sparql import ResultsFormat, read_results, write_results

def run(function):
    for form in ResultsFormat:
        file = io.BytesIO()
        write_results(["a"], [(Literal(f"{n}"),) for n in range(20_000)], file, format=form)
        for which in ("rows", "frames"):
            function(file.getvalue(), form, which)
    print("done")
"""

_SHARED = """
def shared(data, form, which):
    for _ in range(3):
        reader = read_results(data, format=form)
        found = []
        def take():
            try:
                for each in reader if which == "rows" else reader.frames():
                    found.append(1 if which == "rows" else each.rows)
            except ValueError as error:
                assert "already executing" in str(error), error
        threads = [threading.Thread(target=take) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert sum(found) <= 20_000, sum(found)

sys.setswitchinterval(1e-6)
run(shared)
"""

_ENTERED_AGAIN = """
class Source(io.RawIOBase):
    name = "source"
    def __init__(self, data, which):
        self.file, self.which, self.reader, self.errors = io.BytesIO(data), which, None, 0
    def readable(self):
        return True
    def read(self, size=-1):
        if self.reader is not None:
            try:
                next(self.reader if self.which == "rows" else self.reader.frames())
            except ValueError as error:
                assert "already executing" in str(error), error
                self.errors += 1
        return self.file.read(1000)

def entered_again(data, form, which):
    source = Source(data, which)
    source.reader = read_results(source, format=form)
    assert sum(1 for _ in source.reader) == 20_000
    assert source.errors > 5

run(entered_again)
"""

_ELSEWHERE = """
from jelly_plugins import arrow

def elsewhere(data, form, which):
    async def main():
        if which == "rows":
            reader = read_results(data, format=form)
            assert len(await asyncio.to_thread(list, reader)) == 20_000
        else:
            reader = arrow.read_results(data, format=form)
            assert (await asyncio.to_thread(reader.read_all)).num_rows == 20_000
    asyncio.run(main())

run(elsewhere)
"""


@pytest.mark.parametrize("program", [_SHARED, _ENTERED_AGAIN, _ELSEWHERE])
def test_readers(program: str) -> None:
    if program is _ELSEWHERE:
        pytest.importorskip("pyarrow")
    done = run(_BEGINNING + program)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


_SOLUTIONS = """
import io, threading
from pyoxigraph import Literal, NamedNode, Quad, Store
from jelly_plugins.oxigraph import encode_solutions
store = Store()
store.extend(Quad(NamedNode(f"urn:{n}"), NamedNode("urn:p"), Literal(n)) for n in range(20_000))
frames = encode_solutions(store.query("SELECT ?s { ?s ?p ?o }"))
first = next(frames)
found = []
def take():
    try:
        list(frames)
    except ValueError as error:
        found.append(str(error))
# A thread that ends before the next one begins may give it its number.
thread = threading.Thread(target=take)
thread.start()
thread.join()
assert "in the thread that made them" in found[0], found
print("done")
"""


def test_solutions_of_oxigraph_in_another_thread() -> None:
    pytest.importorskip("pyoxigraph")
    done = run(_SOLUTIONS)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr

"""Iterators of the package in the hands of two threads, or of a source that reads them again.

Run as a program: prints one JSON line before and after each case, so that a crash has a name. Each
result is ``""``, or what is wrong: neither the right items nor an error.
"""

from __future__ import annotations

import io
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow
from pyoxigraph import NamedNode, Quad

import jelly_plugins.arrow
import jelly_plugins.jena
import jelly_plugins.oxigraph
import jelly_plugins.rdflib
from jelly_plugins import FrameReader, Iri, JellyError, Literal, Triple, read, read_frames
from jelly_plugins.io.streams import FrameBytes, write_bytes
from jelly_plugins.messages import read_messages, write_messages
from jelly_plugins.patch import (
    BEGIN,
    COMMIT,
    Patch,
    PatchFormat,
    PatchReader,
    add,
    header,
    read_patches,
    write_patches,
)
from jelly_plugins.sparql import ResultsFormat, ResultsFrame, read_results, write_results

from .conversions import written

#: Errors that the caller can handle.
ACCEPTED: Final = (JellyError, RuntimeError, ValueError)
#: In the error of a generator for a second caller.
BUSY: Final = "already executing"
#: Seconds that a case may take on any machine.
PATIENCE: Final = 60

ROWS: Final = 1000
STATEMENTS: Final = [
    Triple(Iri(f"http://x/{n}"), Iri("http://x/p"), Literal(f"{n}")) for n in range(ROWS)
]


def jelly() -> bytes:
    return write_bytes(STATEMENTS, frame_rows=100)


def log(form: PatchFormat) -> bytes:
    """A log of patches."""
    quads = [(*statement, Iri("http://x/g")) for statement in STATEMENTS]
    patches = [
        Patch(
            [
                header("id", Iri(f"urn:{n}")),
                *([header("prev", Iri(f"urn:{n - 1}"))] if n else []),
                BEGIN,
                *map(add, quads[n * 100 : (n + 1) * 100]),
                COMMIT,
            ]
        )
        for n in range(ROWS // 100)
    ]
    return written(write_patches, patches, format=form)


def results(form: ResultsFormat) -> bytes:
    rows = [(each.subject, each.object) for each in STATEMENTS]
    return written(write_results, ["a", "b"], rows, format=form)


def jena(form: str) -> bytes:
    return written(jelly_plugins.jena.write, STATEMENTS, format=form)


def messages(form: str) -> bytes:
    return written(write_messages, [[each] for each in STATEMENTS], format=form)


def with_options(reader: Any) -> Iterator[Any]:
    """A reader of which the options were requested first."""
    assert reader.options
    return iter(reader)


def with_peeked_options(frames: FrameBytes) -> Iterator[bytes]:
    assert frames.peek_options()
    return iter(frames)


#: A source's bytes, and the iterator of a source, by the name of a case.
Case = tuple[Callable[[], bytes], Callable[[Any], Iterator[Any]]]
CASES: Final[dict[str, Case]] = {
    "read": (jelly, read),
    "read_frames": (jelly, lambda src: iter(read_frames(src))),
    "FrameReader": (jelly, FrameReader),
    "FrameReader.options": (jelly, lambda src: with_options(FrameReader(src))),
    "FrameBytes": (jelly, lambda src: iter(FrameBytes(src))),
    "FrameBytes.peek_options": (jelly, lambda src: with_peeked_options(FrameBytes(src))),
    "rdflib.read_statements": (jelly, jelly_plugins.rdflib.read_statements),
    "rdflib.read_quads": (jelly, jelly_plugins.rdflib.read_quads),
    "rdflib.read_graphs": (
        jelly,
        lambda src: (sorted(graph) for graph in jelly_plugins.rdflib.read_graphs(src)),
    ),
    "oxigraph.read_quads": (jelly, jelly_plugins.oxigraph.read_quads),
    "oxigraph.read_quads, reify": (
        jelly,
        lambda src: jelly_plugins.oxigraph.read_quads(src, quoted_triples="reify"),
    ),
    "arrow.read": (
        jelly,
        lambda src: (batch.to_pylist() for batch in jelly_plugins.arrow.read(src)),
    ),
    "arrow.read, shared": (jelly, lambda src: iter(jelly_plugins.arrow.read(src))),
    **{
        f"jena.read, {form}": (
            lambda form=form: jena(form),
            lambda src, form=form: jelly_plugins.jena.read(src, format=form),
        )
        for form in ("rt", "rpb")
    },
    **{
        f"PatchReader, {form.value}": (lambda form=form: log(form), PatchReader)
        for form in PatchFormat
    },
    **{
        f"read_patches, {form.value}": (
            lambda form=form: log(form),
            lambda src: (patch.operations for patch in read_patches(src)),
        )
        for form in PatchFormat
    },
    "read_patches, shared": (lambda: log(PatchFormat.JELLY_PATCH), read_patches),
    **{
        f"read_messages, {form}": (
            lambda form=form: messages(form),
            lambda src, form=form: read_messages(src, format=form),
        )
        for form in ("nt", "ttl", "ndjsonld", "yamlld", "rdf", "jelly")
    },
    **{
        f"read_results, {form}": (
            lambda form=form: results(form),
            lambda src, form=form: iter(read_results(src, format=form)),
        )
        for form in ResultsFormat
    },
    **{
        f"read_results, frames, {form}": (
            lambda form=form: results(form),
            lambda src, form=form: map(
                ResultsFrame.solutions, read_results(src, format=form).frames()
            ),
        )
        for form in ResultsFormat
    },
    **{
        f"arrow.read_results, {form}": (
            lambda form=form: results(form),
            lambda src, form=form: iter(jelly_plugins.arrow.read_results(src, format=form)),
        )
        for form in (ResultsFormat.JELLY, ResultsFormat.JSON, ResultsFormat.TSV)
    },
    # What writes has no source, but an iterator of statements.
    "oxigraph.encode_quads": (
        jelly,
        lambda src: jelly_plugins.oxigraph.encode_quads(quads_of(src)),
    ),
}


def quads_of(src: Any) -> Iterator[Quad]:
    """Quads, for each of which the source is asked."""
    for s, _, _ in STATEMENTS:
        if hasattr(src, "read"):
            src.read(0)
        yield Quad(NamedNode(s.value), NamedNode("http://x/p"), NamedNode("http://x/o"))


def key(item: Any) -> str:
    """What is compared of an item."""
    if isinstance(item, pyarrow.RecordBatch):
        return repr(item.to_pylist())
    if isinstance(item, Patch):
        return repr(item.headers)
    statements = getattr(item, "statements", None)
    if isinstance(statements, list):
        return repr(statements)
    return repr(list(item) if type(item).__name__ == "Message" else item)


class Source(io.RawIOBase):
    """A file that calls something when it is read."""

    def __init__(self, data: bytes, act: Callable[[int], object]) -> None:
        super().__init__()
        self._file = io.BytesIO(data)
        self._act = act
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        chunk = self._file.read(min(len(buffer), 4096))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def read(self, size: int = -1, /) -> bytes:
        self._count += 1
        self._act(self._count)
        return self._file.read(min(size, 4096) if size >= 0 else 4096)


def take(iterator: Iterator[Any], found: list[str], errors: list[Exception]) -> None:
    """Take all items that there are, and go on after an error a few times."""
    for _ in range(10):
        try:
            found.extend(map(key, iterator))
        except Exception as error:
            errors.append(error)
        else:
            return


def judge(expected: Counter[str], found: list[str], errors: list[Exception]) -> str:
    """What is wrong with the items found, if anything."""
    for error in errors:
        if not isinstance(error, ACCEPTED):
            return f"{type(error).__name__}: {error}"
    more = Counter(found) - expected
    if more:
        return f"{more.total()} wrong items, such as {next(iter(more))[:200]}"
    less = expected - Counter(found)
    # A generator that rejects a second caller goes on for the first one.
    if less and all(BUSY in str(error) for error in errors):
        return f"{less.total()} of {expected.total()} items are missing, without an error"
    return ""


def reentered(data: bytes, make: Callable[[Any], Any], expected: Counter[str]) -> str:
    """The source takes an item from the iterator that reads it."""
    found: list[str] = []
    errors: list[Exception] = []
    iterator: Any = None

    def act(count: int) -> None:
        if count > 1 and iterator is not None:
            try:
                found.append(key(next(iterator)))
            except Exception as error:
                errors.append(error)

    iterator = make(Source(data, act))
    take(iterator, found, errors)
    errors = [error for error in errors if not isinstance(error, StopIteration)]
    return judge(expected, found, errors)


def shared(data: bytes, make: Callable[[Any], Any], expected: Counter[str]) -> str:
    """Two threads take items from one iterator."""
    for _ in range(3):
        iterator = make(io.BytesIO(data))
        found: tuple[list[str], list[str]] = [], []
        errors: list[Exception] = []
        threads = [
            threading.Thread(target=take, args=(iterator, each, errors), daemon=True)
            for each in found
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                return "a thread does not end"
        if wrong := judge(expected, [*found[0], *found[1]], errors):
            return wrong
    return ""


def handed_over(data: bytes, make: Callable[[Any], Any], expected: Counter[str]) -> str:
    """One thread makes the iterator and takes an item, another takes the rest."""
    iterator = make(io.BytesIO(data))
    found = [key(next(iterator))]
    errors: list[Exception] = []
    thread = threading.Thread(target=take, args=(iterator, found, errors), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return judge(expected, found, errors)


WAYS: Final = {"reentered": reentered, "shared": shared, "handed over": handed_over}


def main(names: list[str]) -> None:
    sys.setswitchinterval(1e-5)
    for name in names:
        data, make = CASES[name]
        source = data()
        expected = Counter(map(key, make(source)))
        for way, run in WAYS.items():
            print(json.dumps([name, way]), flush=True)
            print(json.dumps(run(source, make, expected)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))

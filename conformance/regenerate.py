"""Make the binary vectors from their text sources, the ``*.txtpb`` files next to them.

    python -m conformance.regenerate write them python -m conformance.regenerate --check only check
    whether they are current; exit 1 if not

``README.md`` describes the sources. The Protocol Buffers library compiles the messages, not the
codec that they test.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Final

from google.protobuf.message import Message
from google.protobuf.text_format import Parse, ParseError

from jelly_plugins.codec import delimit
from jelly_plugins.proto import patch_pb2, rdf_pb2, sparql_pb2

VECTORS: Final = Path(__file__).resolve().parent / "vectors"
SUFFIX: Final = ".txtpb"
#: By the rest of a source's name: the suffix of the binary, and the message type of a frame.
BINARIES: Final[dict[str, tuple[str, type[Message]]]] = {
    "": (".jelly", rdf_pb2.RdfStreamFrame),
    ".jellyp": (".jellyp", patch_pb2.RdfPatchFrame),
    ".jellys": (".jellys", sparql_pb2.SparqlResultsFrame),
}

_SECTION: Final = re.compile(r"^--- (frame|bare frame|frame in hex|hex)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"#.*")


class SourceTextError(Exception):
    """A source cannot be compiled."""


def compile_source(text: str, message: type[Message] = rdf_pb2.RdfStreamFrame) -> bytes:
    """Compile the source of a stream to bytes.

    :param message: the message type of a frame.
    :raises SourceTextError: the source is malformed.

    >>> compile_source("--- hex\\n0a 05 # row\\n").hex(" ")
    '0a 05'
    """
    opening, *sections = _SECTION.split(text)
    if _COMMENT.sub("", opening).strip():
        raise SourceTextError("something other than comments stands before the first section")
    if not sections:
        raise SourceTextError("there is no section")
    stream = b""
    for kind, body in zip(sections[::2], sections[1::2], strict=True):
        data = _hex(body) if kind.endswith("hex") else _frame(body, message)
        if kind.startswith("frame"):
            data = delimit(data)
        stream += data
    return stream


def _frame(text: str, message: type[Message]) -> bytes:
    try:
        frame = Parse(text, message())
    except ParseError as error:
        raise SourceTextError(str(error)) from error
    return bytes(frame.SerializeToString(deterministic=True))


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(_COMMENT.sub("", text))
    except ValueError as error:
        raise SourceTextError(str(error)) from error


def binaries(folder: Path = VECTORS) -> dict[Path, bytes]:
    """Return every binary file with its contents."""
    found = {}
    for source in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            name = source.with_suffix("")
            suffix, message = BINARIES[name.suffix]
            made = compile_source(source.read_text("utf-8"), message)
            found[name.with_suffix(suffix)] = made
        except SourceTextError as error:
            raise SourceTextError(f"{source}: {error}") from error
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m conformance.regenerate",
        description="Make the binary vectors from their readable sources.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing, say what is stale")
    check = parser.parse_args().check
    made = binaries()
    stale = [path for path, data in made.items() if not path.exists() or path.read_bytes() != data]
    there = {path for suffix, _ in BINARIES.values() for path in VECTORS.rglob(f"*{suffix}")}
    orphans = sorted(there - set(made))
    for path in stale:
        if not check:
            path.write_bytes(made[path])
        print(path.relative_to(VECTORS))
    for path in orphans:
        print(f"{path.relative_to(VECTORS)} has no source")
    return 1 if orphans or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())

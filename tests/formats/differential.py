"""Compare the statements of RDF files with the results of every way to read them here.

The files are those of the W3C's test suites, or any others: ``python -m tests.formats.differential
FOLDER…``. A missing statement without an error is a finding.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import rdflib
import yaml
from pyoxigraph import RdfFormat, Store, parse, serialize

from jelly_plugins import convert
from jelly_plugins.errors import JellyError
from jelly_plugins.formats.settings import ConversionSettings
from jelly_plugins.formats.table import read_statements
from jelly_plugins.io.names import Format, format_of
from jelly_plugins.messages import LogFormat, read_messages
from jelly_plugins.messages.json_ld import load_json
from jelly_plugins.oxigraph import load

#: rdflib's names of the formats.
RDFLIB = {
    Format.N_TRIPLES: "nt11",
    Format.N_QUADS: "nquads",
    Format.TURTLE: "turtle",
    Format.TRIG: "trig",
    Format.RDF_XML: "xml",
    Format.JSON_LD: "json-ld",
}
#: The base of a suite's files if no other is known.
BASE = "https://w3c.github.io/rdf-tests/"


class Result(NamedTuple):
    """The result of one way to read a file.

    :ivar way: the name of the way.
    :ivar statements: number of statements read; None if the file was rejected.
    :ivar expected: number of statements in the file, as far as the way distinguishes them.
    """

    way: str
    statements: int | None
    expected: int

    @property
    def lost(self) -> bool:
        """Whether statements are missing without an error."""
        return self.statements is not None and self.statements < self.expected


def files(folder: Path) -> Iterator[tuple[Path, Format]]:
    """Yield the files below a folder in formats of RDF text."""
    for path in sorted(folder.rglob("*")):
        form = format_of(path.name)
        if form in RDFLIB and path.is_file() and not path.name.startswith("manifest"):
            yield path, form


def peer(path: Path, form: Format, base: str) -> tuple[str, bytes, Format]:
    """Convert a file to a form that needs no base: the suite's own result, or the output of rdflib,
    or of pyoxigraph for versions of RDF that rdflib does not support. Return it with its source.

    :raises ValueError: all of them reject the file.
    """
    name = path.name.replace("-in.", "-out.")
    for ending, lines in ((".nq", Format.N_QUADS), (".nt", Format.N_TRIPLES)):
        reference = path.with_name(name).with_suffix(ending)
        if reference != path and reference.exists():
            return "suite", reference.read_bytes(), lines
    data = path.read_bytes()
    dataset = rdflib.Dataset(default_union=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset.parse(data=data, format=RDFLIB[form], publicID=base)
        return "rdflib", dataset.serialize(format="nquads", encoding="utf-8"), Format.N_QUADS
    except Exception:  # rdflib may raise anything.
        lines = RdfFormat.N_QUADS
        media_type = RdfFormat.from_extension(form.value)
        reference = serialize(parse(data, media_type, base_iri=base), format=lines)
        assert reference is not None
        return "pyoxigraph", reference, Format.N_QUADS


def results(
    path: Path, form: Format, base: str | None, reference: bytes, lines: Format
) -> list[Result]:
    """Read a file in every way."""
    data = path.read_bytes()
    number = len(set(parse(reference, RdfFormat.from_extension(lines.value))))
    stored = Store()
    stored.load(reference, RdfFormat.from_extension(lines.value))
    graph = rdflib.Dataset(default_union=False)
    with suppress(Exception):  # It reads no RDF 1.2.
        graph.parse(data=reference, format=RDFLIB[lines])
    logs = _logs(data) if form is Format.JSON_LD else {}
    return [
        Result(
            "read",
            _number(lambda: read_statements(data, form, ConversionSettings(base=base))),
            number,
        ),
        Result("to jelly", _number(partial(_converted, data, form, base, Format.JELLY)), number),
        Result("to nq", _number(partial(_converted, data, form, base, Format.N_QUADS)), number),
        Result("to rt", _number(partial(_converted, data, form, base, Format.RDF_THRIFT)), number),
        Result("oxigraph", _number(partial(_loaded, data, form, base)), len(stored)),
        Result("rdflib", _number(partial(_parsed, data, form, base)), len(set(graph.quads()))),
        *(
            Result(syntax, _number(partial(_statements, log, syntax, base)), number)
            for syntax, log in logs.items()
        ),
    ]


def _number(read: Callable[[], Any]) -> int | None:
    try:
        return len(set(read()))
    except JellyError:
        return None


class _Dumper(yaml.SafeDumper):
    """Writes YAML with every string quoted, because YAML 1.1, which PyYAML writes, and the core
    schema of YAML 1.2 read different strings as numbers.
    """

    def ignore_aliases(self, _: Any) -> bool:
        return True

    def represent_string(self, text: str) -> yaml.Node:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Dumper.add_representer(str, _Dumper.represent_string)


def _logs(data: bytes) -> dict[LogFormat, bytes]:
    """Convert a JSON-LD document to message logs of one message; return none if it is malformed."""
    try:
        document = load_json(data)
    except JellyError:
        return {}
    text = yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False)
    logs = {LogFormat.YAML_LD: text.encode()}
    if isinstance(document, dict) and set(document) - {"@context"}:
        logs[LogFormat.NDJSON_LD] = json.dumps(document).encode()
    return logs


def _statements(log: bytes, syntax: LogFormat, base: str | None) -> Iterator[Any]:
    for message in read_messages(log, format=syntax, base=base):
        yield from message


def yaml_ld_files(folder: Path) -> Iterator[tuple[Path, str, list[Result]]]:
    """Yield the files of a YAML-LD test suite, with the results that the suite expects."""
    for path in sorted(folder.rglob("*-in.yamlld")):
        expected = path.with_name(path.name.replace("-in.", "-out."))
        reference = expected.with_suffix(".nq")
        if reference.exists():
            number: int | None = len(set(read_statements(reference, Format.N_QUADS)))
        elif expected.exists():
            number = _number(partial(_statements, expected.read_bytes(), LogFormat.YAML_LD, BASE))
        else:
            continue
        if number is not None:
            found = _number(partial(_statements, path.read_bytes(), LogFormat.YAML_LD, BASE))
            yield path, "yamlld with a base, by suite", [Result("yamlld", found, number)]


def _converted(data: bytes, form: Format, base: str | None, target: Format) -> Any:
    out = io.BytesIO()
    settings = ConversionSettings(base=base)
    convert(data, out, source_format=form, target_format=target, settings=settings)
    if not target.is_binary:
        return read_statements(out.getvalue(), target)
    lines = io.BytesIO()
    convert(out.getvalue(), lines, source_format=target, target_format=Format.N_QUADS)
    return lines.getvalue().splitlines()


def _loaded(data: bytes, form: Format, base: str | None) -> Any:
    store = Store()
    load(store, data, format=form, base=base)
    return store


def _parsed(data: bytes, form: Format, base: str | None) -> Any:
    out = io.BytesIO()
    settings = ConversionSettings(base=base)
    convert(data, out, source_format=form, target_format=Format.JELLY, settings=settings)
    dataset = rdflib.Dataset(default_union=False)
    dataset.parse(data=out.getvalue(), format="jelly-plugins")
    return dataset.quads()


def compared(folder: Path) -> Iterator[tuple[Path, str, list[Result]]]:
    """Compare the files below a folder, with a base and without one; see :func:`peer`,
    :func:`results` and :func:`yaml_ld_files`.
    """
    yield from yaml_ld_files(folder)
    for path, form in files(folder):
        base = f"{BASE}{path.relative_to(folder).as_posix()}"
        try:
            whose, reference, lines = peer(path, form, base)
            list(parse(reference, RdfFormat.from_extension(lines.value)))
        except (ValueError, SyntaxError):
            continue  # The file is malformed on purpose.
        for given in (base,) if form in (Format.N_TRIPLES, Format.N_QUADS) else (base, None):
            kind = f"{form} {'with' if given else 'without'} a base, by {whose}"
            yield path, kind, results(path, form, given, reference, lines)


def main(folders: list[str]) -> None:
    """Print missing statements, and numbers of files, statements, and rejections of each way."""
    logging.disable()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for folder in map(Path, folders):
        for path, kind, found in compared(folder):
            counts[kind]["files"] += 1
            counts[kind]["statements"] += found[0].expected
            for each in found:
                counts[kind][f"rejected {each.way}"] += each.statements is None
                counts[kind]["LOST"] += each.lost
                if each.lost:
                    print(f"{path} ({kind}), {each.way}: {each.statements}, not {each.expected}")
    for kind, count in sorted(counts.items()):
        print(f"{kind}: {', '.join(f'{what} {n:,}' for what, n in count.items())}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the modules of ``jelly_plugins/proto`` from the ``.proto`` files of this folder.

    python proto/regenerate.py          write them
    python proto/regenerate.py --check  only say whether they are current; exit 1 if not

Needs grpcio-tools (``pip install -e '.[dev]'``), for its compiler alone. The modules hold a file's
descriptor and nothing that depends on the compiler's version: classes are made when they are
imported, in a private descriptor pool (``jelly_plugins/proto/_pool.py``).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

SOURCES: Final = Path(__file__).resolve().parent
TARGET: Final = SOURCES.parent / "jelly_plugins" / "proto"
FILES: Final = ("rdf.proto", "patch.proto", "grpc.proto", "rdf2.proto", "sparql.proto")

_NOTICE: Final = (
    "# Made by proto/regenerate.py from proto/{file}, which is under the Apache License 2.0.\n"
    "# Do not edit.\n"
)
_SCALARS: Final = {
    FieldDescriptorProto.TYPE_BOOL: "bool",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
    FieldDescriptorProto.TYPE_STRING: "str",
    FieldDescriptorProto.TYPE_UINT32: "int",
}


def compile_files() -> list[FileDescriptorProto]:
    """Compile the ``.proto`` files; imports come before their importers."""
    from grpc_tools import protoc  # type: ignore[import-untyped,unused-ignore]

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "descriptors"
        if protoc.main(["", f"-I{SOURCES}", f"--descriptor_set_out={out}", *FILES]):
            raise SystemExit("the compiler failed")
        return list(FileDescriptorSet.FromString(out.read_bytes()).file)


def module_name(file: str) -> str:
    return file.removesuffix(".proto") + "_pb2"


def module_text(file: FileDescriptorProto) -> str:
    """The module of a file."""
    # A file's imports must be in the pool before it.
    imports = [
        *(f"from . import {module_name(name)} as {module_name(name)}" for name in file.dependency),
        "from ._pool import define",
    ]
    serialized = file.SerializeToString()
    lines = [f"    {serialized[pos : pos + 60]!r}" for pos in range(0, len(serialized), 60)]
    return "\n".join(
        [_NOTICE.format(file=file.name), *imports, "", "define(", "    globals(),", *lines, ")", ""]
    )


def stub_text(file: FileDescriptorProto) -> str:
    """The types of a file's module."""
    lines = [
        _NOTICE.format(file=file.name),
        "from collections.abc import Iterable, Mapping, MutableMapping",
        "from typing import Any",
        "",
        "from google.protobuf.descriptor import FileDescriptor",
        "from google.protobuf.internal.containers import RepeatedCompositeFieldContainer",
        "from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper",
        "from google.protobuf.message import Message",
        "",
        *(f"from . import {module_name(name)}" for name in file.dependency),
        "",
        "DESCRIPTOR: FileDescriptor",
    ]
    for enum in file.enum_type:
        lines += enum_stub(enum)
    own = {message.name for message in file.message_type}
    for message in file.message_type:
        lines += ["", *message_stub(message, own)]
    return "\n".join([*lines, ""])


def enum_stub(enum: EnumDescriptorProto) -> Iterator[str]:
    yield ""
    yield f"{enum.name}: EnumTypeWrapper"
    for value in enum.value:
        yield f"{value.name}: int"


def message_stub(message: DescriptorProto, own: set[str]) -> Iterator[str]:
    yield f"class {message.name}(Message):"
    parameters = []
    for field in message.field:
        held, taken, mutable = field_types(message, field, own)
        if mutable:
            yield "    @property"
            yield f"    def {field.name}(self) -> {held}: ..."
        else:
            yield f"    {field.name}: {held}"
        parameters.append(f"        {field.name}: {taken} | None = ...,")
    yield "    def __init__("
    yield "        self,"
    if parameters:
        yield "        *,"
    yield from parameters
    yield "    ) -> None: ..."


def field_types(
    message: DescriptorProto, field: FieldDescriptorProto, own: set[str]
) -> tuple[str, str, bool]:
    """What reading a field gives, what the constructor takes for it, and whether the field is an
    object that changes in place and cannot be assigned.

    :param own: names of the messages of the field's own file.
    """
    if field.type == FieldDescriptorProto.TYPE_ENUM:
        return "int", "int | str", False
    if field.type != FieldDescriptorProto.TYPE_MESSAGE:
        scalar = _SCALARS[field.type]
        return scalar, scalar, False
    for nested in message.nested_type:
        if nested.options.map_entry and field.type_name.endswith(f".{message.name}.{nested.name}"):
            key, value = (_SCALARS[entry.type] for entry in nested.field)
            return f"MutableMapping[{key}, {value}]", f"Mapping[{key}, {value}]", True
    name = field.type_name.rpartition(".")[2]
    if name not in own:
        # Only these two are imported by the others.
        name = f"{'rdf2' if name.endswith('Packed') else 'rdf'}_pb2.{name}"
    taken = f"{name} | Mapping[str, Any]"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"RepeatedCompositeFieldContainer[{name}]", f"Iterable[{taken}]", True
    return name, taken, True


def texts() -> dict[Path, str]:
    """Every generated file with what belongs into it."""
    found: dict[Path, str] = {}
    for file in compile_files():
        name = module_name(file.name)
        found[TARGET / f"{name}.py"] = module_text(file)
        found[TARGET / f"{name}.pyi"] = stub_text(file)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say what is stale")
    check = parser.parse_args().check
    stale = {
        path: text
        for path, text in texts().items()
        if not path.exists() or path.read_text() != text
    }
    for path, text in stale.items():
        if not check:
            path.write_text(text)
        print(path.relative_to(SOURCES.parent))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""The private descriptor pool, and how a generated module fills itself from it."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message_factory import GetMessageClass

POOL: Final = DescriptorPool()


def define(module: dict[str, Any], serialized: bytes) -> None:
    """Add a file to the pool, and its messages and enumerations to a module's names.

    :param module: the module's namespace, as ``globals()`` gives it.
    :param serialized: a FileDescriptorProto; files that it imports must be in the pool.
    """
    file = POOL.AddSerializedFile(serialized)
    module["DESCRIPTOR"] = file
    for name, message in file.message_types_by_name.items():
        module[name] = GetMessageClass(message)
        module[name].__module__ = module["__name__"]
    for name, enum in file.enum_types_by_name.items():
        module[name] = EnumTypeWrapper(enum)
        module.update({value.name: value.number for value in enum.values})

"""The wire of each encoding."""

from __future__ import annotations

from typing import Final

from .names import JenaFormat
from .protobuf import ProtobufWire
from .thrift import ThriftWire
from .wire import Wire

WIRES: Final[dict[JenaFormat, Wire]] = {
    JenaFormat.THRIFT: ThriftWire(),
    JenaFormat.PROTOBUF: ProtobufWire(),
}

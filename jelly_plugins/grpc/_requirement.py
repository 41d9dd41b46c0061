"""Says what is missing, where gRPC is."""

from __future__ import annotations

from ..errors import MissingExtraError

try:
    import grpc  # noqa: F401
    import grpc_health  # noqa: F401
    import grpc_reflection  # noqa: F401
except ImportError as error:
    raise MissingExtraError("gRPC is missing: pip install 'jelly-plugins[grpc]'") from error

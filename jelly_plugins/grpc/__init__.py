"""Jelly's streaming service by gRPC: :func:`serve`, :func:`publish` and :func:`subscribe`; the same
for asyncio in :mod:`jelly_plugins.grpc.aio`.

A server has topics that clients subscribe to, and takes streams that clients publish. Applications
implement :class:`Service`; ready are topics of files, stores and graphs, a :class:`Broadcast` of
what others publish, and sinks that load what is published.

Frames travel as they are: the codec reads and writes them, not protobuf's classes.

>>> from jelly_plugins import Iri, StreamOptions, Triple
>>> from rdflib import Graph
>>> graph = Graph()
>>> with serve(Topics({"people": graph}, sink=StoreSink(graph))) as server:
...     publish([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))], server.address)
...     with subscribe("people", server.address) as stream:
...         list(stream.statements())
[Triple(subject=Iri(value='urn:s'), predicate=Iri(value='urn:p'), object=Iri(value='urn:o'))]

Reference: Jelly gRPC streaming protocol; RdfStreamService in grpc.proto.
"""

from __future__ import annotations

from ..errors import MissingExtraError

try:
    import grpc as _grpc  # noqa: F401
    import grpc_health as _grpc_health  # noqa: F401
    import grpc_reflection as _grpc_reflection  # noqa: F401
except ImportError as error:
    raise MissingExtraError.of("gRPC needs a library", "grpc") from error

from . import aio
from .broadcast import Broadcast
from .client import (
    Client,
    ConnectionOptions,
    PublishOptions,
    RequestOptions,
    SubscribeOptions,
    Subscription,
    UploadOptions,
    publish,
    subscribe,
)
from .security import Bounds, ClientTls, ServerTls
from .server import ServeOptions, Server, serve
from .topics import (
    FileTopic,
    FrameSink,
    Publishable,
    Published,
    Service,
    StoreSink,
    StoreTopic,
    Subscribable,
    Topics,
)

__all__ = [
    "Bounds",
    "Broadcast",
    "Client",
    "ClientTls",
    "ConnectionOptions",
    "FileTopic",
    "FrameSink",
    "PublishOptions",
    "Publishable",
    "Published",
    "RequestOptions",
    "ServeOptions",
    "Server",
    "ServerTls",
    "Service",
    "StoreSink",
    "StoreTopic",
    "Subscribable",
    "SubscribeOptions",
    "Subscription",
    "Topics",
    "UploadOptions",
    "aio",
    "publish",
    "serve",
    "subscribe",
]

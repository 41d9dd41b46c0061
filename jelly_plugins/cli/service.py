"""``jelly serve``, ``jelly publish`` and ``jelly subscribe``: Jelly's streaming service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import click
from click import UsageError

from ..codec import PhysicalType, StreamOptions, delimit
from ..errors import OptionsError, ServiceError
from ..io.names import Format, format_of
from ..io.sinks import open_output
from . import console, finished
from .console import STANDARD
from .options import File, Folder, Parsed, Positive, RdfFormat, Seconds, Size, limits
from .store import open_store, reject_other_folder

if TYPE_CHECKING:
    from ..grpc import ServerTls, Subscription

#: Names of the loopback: other machines cannot reach it.
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
#: Environment variable of the token, since other users can see a command line.
_TOKEN: Final = "JELLY_TOKEN"


def _live_topic(text: str) -> tuple[str, PhysicalType]:
    name, _, kind = text.partition("=")
    try:
        return name, PhysicalType[(kind or "triples").upper()]
    except KeyError:
        raise ValueError(f"{text}: triples, quads or graphs is needed") from None


def _server(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{text} is not HOST:PORT")
    return text


Server: TypeAlias = Annotated[str, Parsed("HOST:PORT", _server)]
Topic: TypeAlias = Annotated[str, Parsed("NAME")]


def serve(
    *,
    topic: list[Annotated[str, Parsed("NAME[=FILE]")]] = [],  # noqa: B006
    live: list[Annotated[Any, Parsed("NAME[=TYPE]", _live_topic)]] = [],  # noqa: B006
    store: Folder | None = None,
    rdf_star: bool = False,
    read_only: bool = False,
    host: str = _LOOPBACK[0],
    port: Annotated[int, click.IntRange(0, 65535)] = 50051,  # gRPC's usual one
    token_file: File | None = None,
    tls_cert: File | None = None,
    tls_key: File | None = None,
    tls_client_ca: File | None = None,
    max_streams: Positive = 200,
    max_bytes: Size = 4 << 30,
    max_idle: Seconds = 300,
    grace: Seconds = 10,
) -> None:
    """Serve topics by gRPC, and take published streams into a store.

    By default, only this machine can connect. With another --host, every host that can reach the
    address can read and publish, unless --tls-cert and a token are set. Ends at SIGINT or SIGTERM.

    $ jelly serve --topic data=data.jelly.gz

    :param topic: Topic that streams a Jelly file, or the contents of the store.
    :param live: Topic that broadcasts the streams published to it: triples, quads or graphs.
    :param store: Oxigraph store for published streams; created if missing.
    :param rdf_star: Allow quoted triples in live topics.
    :param read_only: Do not load published streams into the store.
    :param host: Address to listen on.
    :param port: Port; 0 selects a free one.
    :param tls_client_ca: CA of the client certificates that the server requires (PEM).
    :param max_streams: Maximum number of concurrent streams.
    :param max_bytes: Maximum size of a published stream in bytes.
    :param max_idle: Seconds after which an idle client is disconnected; 0 for never.
    :param grace: Seconds for streams to finish at shutdown.
    """
    if not (topic or store or live):
        raise UsageError("nothing to serve: give --topic, --live or --store")
    if rdf_star and not live:
        raise UsageError("--rdf-star needs --live")
    if read_only and store is None:
        raise UsageError("--read-only needs --store")
    files = [(name, file) for name, _, file in (each.partition("=") for each in topic)]
    names = [name for name, _ in (*files, *live)]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"topic {name!r} is given twice")
    for name, file in files:
        if not file and store is None:
            raise UsageError(f"--topic {name}: a file is needed, or --store")
    console.require_files(file for _, file in files if file)
    tls, token, bounds = _server_tls(tls_cert, tls_key, tls_client_ca), _token(token_file), limits()
    from ..grpc import Bounds, Broadcast, FileTopic, StoreSink, StoreTopic, Topics
    from ..grpc import serve as serve_

    opened = None
    if store is not None:
        reject_other_folder(store)
        opened = open_store(store)
    topics: dict[str, Any] = {
        name: FileTopic(file, limits=bounds) if file else StoreTopic(opened, limits=bounds)
        for name, file in files
    }
    for name, kind in live:
        options = StreamOptions.flat(kind, rdf_star=rdf_star)
        topics[name] = Broadcast(options, limits=bounds)
    server = serve_(
        Topics(
            topics, sink=None if opened is None or read_only else StoreSink(opened, limits=bounds)
        ),
        host=host,
        port=port,
        tls=tls,
        token=token,
        bounds=Bounds(streams=max_streams, stream_bytes=max_bytes, idle=max_idle or None),
        limits=bounds,
    )
    try:
        if host not in _LOOPBACK and (tls is None or token is None):
            needed = (("TLS", tls), ("a token", token))
            lacking = " and ".join(what for what, there in needed if there is None)
            console.note(f"without {lacking}, any client that reaches {server.address} is accepted")
        print(f"serving on {server.address}", flush=True)
        server.wait()
    except KeyboardInterrupt:
        server.stop(grace)


def _server_tls(
    certificate: str | None, key: str | None, client_ca: str | None
) -> ServerTls | None:
    if certificate is None or key is None:
        if certificate or key or client_ca:
            raise UsageError("TLS needs both --tls-cert and --tls-key")
        return None
    from ..grpc import ServerTls

    return ServerTls(certificate=certificate, key=key, client_ca=client_ca)


def publish(
    file: File,
    *,
    to: Server,
    topic: Topic | None = None,
    from_: RdfFormat | None = None,
    token_file: File | None = None,
    tls: bool = False,
    tls_ca: File | None = None,
    tls_cert: File | None = None,
    tls_key: File | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Publish a file to a server.

    Done once the server has received all of it.

    $ jelly publish data.jelly.gz --to localhost:50051 --topic data

    :param file: File in any format that convert reads; - for stdin.
    :param to: The server.
    :param topic: Name of the stream.
    """
    connection = _connection(token_file, tls, tls_ca, tls_cert, tls_key)
    console.require_files([file])
    source_format = from_ or format_of(file) or Format.JELLY
    from ..grpc import Client

    with (
        console.open_sources([file], "publish") as [opened],
        Client(to, **connection) as client,
    ):
        client.publish(opened, format=source_format, topic=topic, timeout=timeout)


def subscribe(
    topic: Topic,
    *,
    from_: Server,
    output: str = STANDARD,
    force: bool = False,
    token_file: File | None = None,
    tls: bool = False,
    tls_ca: File | None = None,
    tls_cert: File | None = None,
    tls_key: File | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Write the stream of a topic as Jelly.

    If the stream is interrupted, by a signal, --timeout or the server, the output keeps the whole
    frames that have come.

    $ jelly subscribe data --from localhost:50051 -o copy.jelly

    :param topic: Name of the topic.
    :param from_: The server.
    """
    connection = _connection(token_file, tls, tls_ca, tls_cert, tls_key)
    if format_of(output) is not Format.JELLY:
        console.reject_ending(output, "subscribe writes jelly")
    dst = console.destination(output, force=force, binary=True)
    from ..grpc import subscribe as subscribe_

    with subscribe_(topic, from_, timeout=timeout, **connection) as stream:
        if isinstance(dst, str):
            finished(lambda: _save(stream, dst), stream.close)
        else:
            stream.save(dst)


def _save(stream: Subscription, dst: str) -> None:
    """Write a stream to a path, with the frames that came before it was interrupted."""
    received = 0
    failure: ServiceError | None = None
    with open_output(dst) as out:
        flush = getattr(out, "flush", None)
        try:
            for frame in stream.frames():
                out.write(delimit(frame))
                if flush is not None:
                    flush()
                received += 1
        except ServiceError as error:
            failure = error
        if not received:
            raise failure or OptionsError("the stream has no frames", source=stream.name)
    if failure is not None or stream.is_cut:
        console.note(f"{dst} has the {received:,} complete frames received; the stream did not end")
    if failure is not None:
        raise failure


def _connection(
    token_file: str | None, tls: bool, ca: str | None, certificate: str | None, key: str | None
) -> dict[str, Any]:
    """The keyword arguments of a client."""
    if (certificate is None) != (key is None):
        raise UsageError("--tls-cert and --tls-key belong together")
    given: dict[str, Any] = {"token": _token(token_file), "limits": limits()}
    if tls or ca or certificate:
        from ..grpc import ClientTls

        given["tls"] = ClientTls(ca=ca, certificate=certificate, key=key)
    return given


def _token(file: str | None) -> str | None:
    """The token of a file, or of the environment; None if there is neither."""
    if file is None:
        token = os.environ.get(_TOKEN)
    else:
        # Text that is not ASCII is rejected below.
        token = Path(file).read_text(encoding="ascii", errors="surrogateescape").strip()
    if token is None:
        return None
    from ..grpc.security import check_token

    try:
        return check_token(token)
    except ValueError as error:
        raise UsageError(f"{file or _TOKEN}: {error}") from error

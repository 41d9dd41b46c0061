"""``jelly serve``, ``jelly publish`` and ``jelly subscribe``: Jelly's streaming service."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import click
from click import UsageError

from ..errors import OptionsError, ServiceError
from ..io.sinks import open_output
from ..io.sources import Format, format_of
from . import console, finished
from .console import Output
from .options import File, Folder, Parsed, Positive, RdfFormat, Seconds, Size, limits
from .store import open_store, reject_other_folder

if TYPE_CHECKING:
    from ..codec import PhysicalType
    from ..grpc import ServerTls, Subscription

#: Names of the loopback: other machines cannot reach it.
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
#: Environment variable of the token, since other users can see a command line.
_TOKEN: Final = "JELLY_TOKEN"
# gRPC's library prints lines of its own, also for errors that are reported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def _live_topic(text: str) -> tuple[str, PhysicalType]:
    from ..codec import PhysicalType

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


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """What a server or a client shows to the other side."""

    token_file: File | None = None
    tls_cert: File | None = None
    tls_key: File | None = None

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("--tls-cert and --tls-key belong together")

    def token(self) -> str | None:
        """The token of the file, or of the environment; None if there is neither."""
        if self.token_file is None:
            token = os.environ.get(_TOKEN)
        else:
            # Text that is not ASCII is rejected below.
            path = Path(self.token_file)
            token = path.read_text(encoding="ascii", errors="surrogateescape").strip()
        if token is None:
            return None
        from ..grpc.security import check_token

        try:
            return check_token(token)
        except ValueError as error:
            raise UsageError(f"{self.token_file or _TOKEN}: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Listening(Secrets):
    """How a server listens, whom it accepts, and what clients may use.

    :ivar host: address to listen on.
    :ivar port: port, or 0 for a free one.
    :ivar tls_client_ca: CA of the client certificates that the server requires (PEM).
    :ivar max_streams: maximum number of concurrent streams.
    :ivar max_bytes: maximum size of a published stream in bytes.
    :ivar max_idle: seconds after which an idle client is disconnected, or 0 for never.
    :ivar grace: seconds for streams to finish at shutdown.
    """

    host: str = _LOOPBACK[0]
    port: Annotated[int, click.IntRange(0, 65535)] = 50051  # gRPC's usual one
    tls_client_ca: File | None = None
    max_streams: Positive = 200
    max_bytes: Size = 4 << 30
    max_idle: Seconds = 300
    grace: Seconds = 10

    def tls(self) -> ServerTls | None:
        """The certificates; None without TLS."""
        if self.tls_cert is None or self.tls_key is None:
            if self.tls_client_ca:
                raise UsageError("--tls-client-ca needs --tls-cert and --tls-key")
            return None
        from ..grpc import ServerTls

        return ServerTls(certificate=self.tls_cert, key=self.tls_key, client_ca=self.tls_client_ca)


@dataclass(frozen=True, kw_only=True)
class Connecting(Secrets):
    """How a client connects to a server.

    :ivar tls_ca: CA of the server's certificate (PEM).
    :ivar timeout: seconds until the call ends with an error, by default none.
    """

    tls: bool = False
    tls_ca: File | None = None
    timeout: Seconds | None = None

    def settings(self) -> dict[str, Any]:
        """The keyword arguments of a client."""
        given: dict[str, Any] = {"token": self.token(), "limits": limits()}
        if self.tls or self.tls_ca or self.tls_cert:
            from ..grpc import ClientTls

            given["tls"] = ClientTls(ca=self.tls_ca, certificate=self.tls_cert, key=self.tls_key)
        return given


def serve(
    *,
    topic: list[Annotated[str, Parsed("NAME[=FILE]")]] = [],  # noqa: B006
    live: list[Annotated[Any, Parsed("NAME[=TYPE]", _live_topic)]] = [],  # noqa: B006
    store: Folder | None = None,
    rdf_star: bool = False,
    read_only: bool = False,
    listening: Listening,
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
        if format_of(file) not in (None, Format.JELLY):
            raise UsageError(f"--topic {name}: {file} is not a Jelly file: jelly convert makes one")
    console.require_files(file for _, file in files if file)
    tls, token, allowed = listening.tls(), listening.token(), limits()
    from ..codec import StreamOptions
    from ..grpc import Bounds, Broadcast, FileTopic, StoreSink, StoreTopic, Topics
    from ..grpc import serve as serve_

    opened = None
    if store is not None:
        reject_other_folder(store)
        opened = open_store(store)
    topics: dict[str, Any] = {
        name: FileTopic(file, limits=allowed) if file else StoreTopic(opened, limits=allowed)
        for name, file in files
    }
    for name, kind in live:
        options = StreamOptions.flat(kind, rdf_star=rdf_star)
        topics[name] = Broadcast(options, limits=allowed)
    server = serve_(
        Topics(
            topics, sink=None if opened is None or read_only else StoreSink(opened, limits=allowed)
        ),
        host=listening.host,
        port=listening.port,
        tls=tls,
        token=token,
        bounds=Bounds(
            streams=listening.max_streams,
            stream_bytes=listening.max_bytes,
            idle=listening.max_idle or None,
        ),
        limits=allowed,
    )
    try:
        if listening.host not in _LOOPBACK and (tls is None or token is None):
            needed = (("TLS", tls), ("a token", token))
            lacking = " and ".join(what for what, there in needed if there is None)
            console.note(f"without {lacking}, any client that reaches {server.address} is accepted")
        print(f"serving on {server.address}", flush=True)
        server.wait()
    except KeyboardInterrupt:
        server.stop(listening.grace)


def publish(
    file: File,
    *,
    to: Server,
    topic: Topic | None = None,
    from_: RdfFormat | None = None,
    connecting: Connecting,
) -> None:
    """Publish a file to a server.

    Done once the server has received all of it.

    $ jelly publish data.jelly.gz --to localhost:50051 --topic data

    :param file: File in any format that convert reads; - for stdin.
    :param to: The server.
    :param topic: Name of the stream.
    """
    connection = connecting.settings()
    console.require_files([file])
    source_format = from_ or format_of(file) or Format.JELLY
    from ..grpc import Client

    with (
        console.open_sources([file], "publish") as [opened],
        Client(to, **connection) as client,
    ):
        client.publish(opened, format=source_format, topic=topic, timeout=connecting.timeout)


def subscribe(
    topic: Topic,
    *,
    from_: Server,
    target: Output,
    connecting: Connecting,
) -> None:
    """Write the stream of a topic as Jelly.

    If the stream is interrupted, by a signal, --timeout or the server, the output keeps the
    complete frames received.

    $ jelly subscribe data --from localhost:50051 -o copy.jelly

    :param topic: Name of the topic.
    :param from_: The server.
    """
    connection = connecting.settings()
    if format_of(target.output) is not Format.JELLY:
        target.reject_ending("subscribe writes jelly")
    dst = target.open(binary=True)
    from ..grpc import subscribe as subscribe_

    with subscribe_(topic, from_, timeout=connecting.timeout, **connection) as stream:
        if isinstance(dst, str):
            finished(lambda: _save(stream, dst), stream.close)
        else:
            stream.save(dst)


def _save(stream: Subscription, dst: str) -> None:
    """Write a stream to a path, with the frames received before an interrupt."""
    from ..codec import delimit

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
        frames = console.counted(received, "complete frame")
        console.note(f"{dst} has the {frames} received; the stream did not end")
    if failure is not None:
        raise failure

"""``jelly serve``, ``jelly publish`` and ``jelly subscribe``: Jelly's streaming service."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from ..codec import Limits, delimit
from ..errors import OptionsError, ServiceError
from ..io.names import Format, format_of
from ..io.sinks import open_output
from . import console, settings
from .console import STANDARD, WrongUsageError
from .options import Argument, Fields, Option
from .signals import stopped_by_signals
from .store import open_store, reject_other_folder

if TYPE_CHECKING:
    from ..grpc import ServerTls, Subscription

#: Names of the loopback: other machines cannot reach it.
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
#: Environment variable of the token, since other users can see a command line.
_TOKEN: Final = "JELLY_TOKEN"

_TOKEN_FILE: Final = Option(
    "--token-file",
    metavar="FILE",
    help=f"File with the clients' token; {_TOKEN} in the environment also sets it.",
)
_TLS_CERT: Final = Option("--tls-cert", metavar="FILE", help="Certificate to present (PEM).")
_TLS_KEY: Final = Option("--tls-key", metavar="FILE", help="Private key of the certificate (PEM).")


@dataclass(frozen=True, kw_only=True)
class Serving:
    """How a server listens, whom it accepts, and what clients may use."""

    host: Annotated[str, Option("--host", metavar="ADDRESS", help="Address to listen on.")] = (
        _LOOPBACK[0]
    )
    port: Annotated[int, Option("--port", min=0, max=65535, help="Port; 0 selects a free one.")] = (
        50051  # gRPC's usual one
    )
    token_file: Annotated[str | None, _TOKEN_FILE] = None
    tls_cert: Annotated[str | None, _TLS_CERT] = None
    tls_key: Annotated[str | None, _TLS_KEY] = None
    tls_client_ca: Annotated[
        str | None,
        Option(
            "--tls-client-ca",
            metavar="FILE",
            help="CA of the client certificates that the server requires (PEM).",
        ),
    ] = None
    max_streams: Annotated[
        int, Option("--max-streams", min=1, help="Maximum number of concurrent streams.")
    ] = 200
    max_bytes: Annotated[
        int,
        Option(
            "--max-bytes",
            parser=settings.parse_size,
            metavar="SIZE",
            show_default="4G",
            help="Maximum size of a published stream in bytes.",
        ),
    ] = 4 << 30
    max_seconds: Annotated[
        float | None,
        Option("--max-seconds", min=0.001, help="Maximum duration of a stream."),
    ] = None
    max_idle: Annotated[
        float,
        Option(
            "--max-idle",
            metavar="SECONDS",
            min=0,
            help="Seconds after which an idle client is disconnected; 0 for never.",
        ),
    ] = 300
    subscriber_timeout: Annotated[
        float,
        Option(
            "--subscriber-timeout",
            metavar="SECONDS",
            min=0,
            help="Seconds to wait for a slow subscriber of a live topic before disconnecting it.",
        ),
    ] = 10.0
    grace: Annotated[
        float,
        Option("--grace", min=0, help="Seconds for streams to finish at shutdown."),
    ] = 10.0

    def tls(self) -> ServerTls | None:
        """The certificates; None without TLS."""
        if self.tls_cert is None or self.tls_key is None:
            if self.tls_cert or self.tls_key or self.tls_client_ca:
                raise WrongUsageError("TLS needs both --tls-cert and --tls-key")
            return None
        from ..grpc import ServerTls

        return ServerTls(certificate=self.tls_cert, key=self.tls_key, client_ca=self.tls_client_ca)


@dataclass(frozen=True, kw_only=True)
class Connecting:
    """How a client connects to a server."""

    token_file: Annotated[str | None, _TOKEN_FILE] = None
    tls: Annotated[
        bool,
        Option("--tls", help="Use TLS, with a server certificate of a trusted authority."),
    ] = False
    tls_ca: Annotated[
        str | None,
        Option("--tls-ca", metavar="FILE", help="CA of the server's certificate (PEM)."),
    ] = None
    tls_cert: Annotated[str | None, _TLS_CERT] = None
    tls_key: Annotated[str | None, _TLS_KEY] = None
    timeout: Annotated[
        float | None,
        Option("--timeout", metavar="SECONDS", min=0, help="Timeout; none by default."),
    ] = None

    def settings(self) -> dict[str, Any]:
        """The keyword arguments of a client."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise WrongUsageError("--tls-cert and --tls-key belong together")
        given: dict[str, Any] = {
            "token": _token(self.token_file),
            "limits": console.limits_from(),
        }
        if self.tls or self.tls_ca or self.tls_cert:
            from ..grpc import ClientTls

            given["tls"] = ClientTls(ca=self.tls_ca, certificate=self.tls_cert, key=self.tls_key)
        return given


def serve(
    topics: Annotated[
        list[str] | None,
        Option(
            "--topic",
            metavar="NAME[=FILE]",
            help="Topic that streams a Jelly file, or the contents of the store.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        Option(
            "--store",
            metavar="DIR",
            help="Oxigraph store for published streams; created if missing.",
        ),
    ] = None,
    live: Annotated[
        list[str] | None,
        Option(
            "--live",
            metavar="NAME[=TYPE]",
            help="Topic that broadcasts the streams published to it: triples, quads or graphs.",
        ),
    ] = None,
    rdf_star: Annotated[
        bool, Option("--rdf-star", help="Allow quoted triples in live topics.")
    ] = False,
    read_only: Annotated[
        bool, Option("--read-only", help="Do not load published streams into the store.")
    ] = False,
    per_frame: Annotated[
        bool,
        Option("--per-frame", help="Load frames as they arrive, not whole streams."),
    ] = False,
    *,
    serving: Annotated[Serving, Fields()],
) -> None:
    """Serve topics by gRPC, and take published streams into a store.

    By default, only this machine can connect. With another --host, every host that can reach the
    address can read and publish, unless --tls-cert and a token are set. Ends at SIGINT or SIGTERM.
    """
    if not topics and not store and not live:
        raise WrongUsageError("nothing to serve: give --topic, --live or --store")
    if rdf_star and not live:
        raise WrongUsageError("--rdf-star needs --live")
    if store is None and (read_only or per_frame):
        raise WrongUsageError("--read-only and --per-frame need --store")
    limits = console.limits_from()
    tls = serving.tls()
    token = _token(serving.token_file)
    from ..grpc import Bounds, FrameSink, StoreSink, StoreTopic, Topics
    from ..grpc import serve as serve_

    served = _topics(
        topics or [],
        live or [],
        rdf_star=rdf_star,
        timeout=serving.subscriber_timeout,
        limits=limits,
    )
    of_store = [name for name, topic in served.items() if topic is None]
    if of_store and store is None:
        raise WrongUsageError(f"--topic {of_store[0]}: a file is needed, or --store")
    sink: Any = None
    if store is not None:
        reject_other_folder(store)
        opened = open_store(store)
        served = {
            name: topic or StoreTopic(opened, limits=limits) for name, topic in served.items()
        }
        if not read_only:
            sink = (FrameSink if per_frame else StoreSink)(opened, limits=limits)
    server = serve_(
        Topics(served, sink=sink),
        host=serving.host,
        port=serving.port,
        tls=tls,
        token=token,
        bounds=Bounds(
            streams=serving.max_streams,
            stream_bytes=serving.max_bytes,
            seconds=serving.max_seconds,
            idle=serving.max_idle or None,
        ),
        limits=limits,
    )
    with suppress(KeyboardInterrupt), stopped_by_signals(lambda: server.stop(serving.grace)):
        if serving.host not in _LOOPBACK and (tls is None or token is None):
            lacking = " and ".join(
                what for what, there in (("TLS", tls), ("a token", token)) if there is None
            )
            console.note(f"without {lacking}, any client that reaches {server.address} is accepted")
        print(f"serving on {server.address}", flush=True)
        server.wait()


def _topics(
    files: list[str], live: list[str], *, rdf_star: bool, timeout: float, limits: Limits
) -> dict[str, Any]:
    """The topics by name; those of the store are None."""
    from ..grpc import Broadcast, FileTopic

    topics: dict[str, Any] = {}
    for given in files:
        name, _, file = given.partition("=")
        if file:
            console.require_files([file])
        topics[_new(name, topics)] = FileTopic(file, limits=limits) if file else None
    for given in live:
        name, _, kind = given.partition("=")
        options = _options_of(given, kind, rdf_star=rdf_star)
        topics[_new(name, topics)] = Broadcast(options, subscriber_timeout=timeout, limits=limits)
    return topics


def publish(
    source: Annotated[
        str,
        Argument(metavar="FILE", help="File in any format that convert reads; - for stdin."),
    ],
    to: Annotated[str, Option("--to", metavar="HOST:PORT", help="The server.")],
    topic: Annotated[
        str | None, Option("--topic", metavar="NAME", help="Name of the stream.")
    ] = None,
    from_: settings.From = None,
    *,
    connecting: Annotated[Connecting, Fields()],
) -> None:
    """Publish a file to a server.

    Done once the server has received all of it.
    """
    connection = connecting.settings()
    console.require_files([source])
    source_format = from_ or format_of(source) or Format.JELLY
    from ..grpc import Client

    with (
        console.open_sources([source], "publish") as [opened],
        Client(_target(to), **connection) as client,
    ):
        client.publish(opened, format=source_format, topic=topic, timeout=connecting.timeout)


def subscribe(
    topic: Annotated[str, Argument(metavar="TOPIC", help="Name of the topic.")],
    from_: Annotated[str, Option("--from", metavar="HOST:PORT", help="The server.")],
    output: settings.Output = STANDARD,
    force: settings.Force = False,
    *,
    connecting: Annotated[Connecting, Fields()],
) -> None:
    """Write the stream of a topic as Jelly.

    If the stream is interrupted, by a signal, --timeout or the server, the output keeps the whole
    frames that have come.
    """
    connection = connecting.settings()
    if format_of(output) is not Format.JELLY:
        console.reject_ending(output, "subscribe writes jelly")
    dst = console.destination(output, force=force, binary=True)
    from ..grpc import subscribe as subscribe_

    with subscribe_(topic, _target(from_), timeout=connecting.timeout, **connection) as stream:
        if isinstance(dst, str):
            with stopped_by_signals(stream.close):
                _save(stream, dst)
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


def _new(name: str, served: dict[str, Any]) -> str:
    """Reject the name of an existing topic."""
    if name in served:
        raise WrongUsageError(f"topic {name!r} is given twice")
    return name


def _options_of(given: str, kind: str, *, rdf_star: bool) -> Any:
    from ..codec import PhysicalType, StreamOptions

    try:
        physical_type = PhysicalType[(kind or "triples").upper()]
    except KeyError:
        raise WrongUsageError(f"--live {given}: triples, quads or graphs is needed") from None
    return StreamOptions.flat(physical_type, rdf_star=rdf_star)


def _target(given: str) -> str:
    host, _, port = given.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise WrongUsageError(f"{given} is not HOST:PORT")
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
        raise WrongUsageError(f"{file or _TOKEN}: {error}") from error

"""Access control: TLS with certificates of one or both sides, and a token."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import grpc

from ..errors import SourceError

#: A file in PEM, or what is in one.
Pem: TypeAlias = str | Path | bytes

_HEADER: Final = "authorization"
_SCHEME: Final = "Bearer "
HEALTH_CHECK: Final = "/grpc.health.v1.Health/Check"

#: Health checks of clients without a token that are served at once.
_CHECKS: Final = 4


def _read_if_any(pem: Pem | None) -> bytes | None:
    return None if pem is None else _read(pem)


def _read(pem: Pem) -> bytes:
    if isinstance(pem, bytes):
        return pem
    try:
        return Path(pem).read_bytes()
    except (OSError, ValueError) as error:
        raise SourceError(
            getattr(error, "strerror", None) or str(error), source=str(pem)
        ) from error


@dataclass(frozen=True, kw_only=True)
class ServerTls:
    """The certificates of a server, and the clients that it accepts.

    :ivar certificate: its certificate, and those between it and the authority: a file or its bytes.
    :ivar key: its private key.
    :ivar client_ca: the authority whose certificates clients have to show (mutual TLS); None lets
        in clients without one.
    """

    certificate: Pem
    key: Pem
    client_ca: Pem | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """For a port.

        :raises SourceError: a file cannot be read.
        """
        return grpc.ssl_server_credentials(
            [(_read(self.key), _read(self.certificate))],
            root_certificates=_read_if_any(self.client_ca),
            require_client_auth=self.client_ca is not None,
        )


@dataclass(frozen=True, kw_only=True)
class ClientTls:
    """The servers that a client trusts, and its own credentials.

    :ivar ca: the authority of the server's certificate; None for those that gRPC trusts.
    :ivar certificate: the client's own, if the server requires one.
    :ivar key: its private key.
    """

    ca: Pem | None = None
    certificate: Pem | None = None
    key: Pem | None = None

    def __post_init__(self) -> None:
        # gRPC ends the process for one without the other.
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate and its key must be given together")

    def credentials(self) -> grpc.ChannelCredentials:
        """For a channel.

        :raises SourceError: a file cannot be read.
        """
        return grpc.ssl_channel_credentials(
            root_certificates=_read_if_any(self.ca),
            private_key=_read_if_any(self.key),
            certificate_chain=_read_if_any(self.certificate),
        )


def authorization(token: str | None) -> tuple[tuple[str, str], ...]:
    """The metadata of a call that shows a token.

    >>> authorization("secret")
    (('authorization', 'Bearer secret'),)
    """
    return () if token is None else ((_HEADER, _SCHEME + check_token(token)),)


def check_token(token: str) -> str:
    """A token as it is.

    :raises ValueError: it is empty, or no header can have it.
    """
    if not token or not token.isascii() or not token.isprintable() or token != token.strip():
        raise ValueError("a token must be printable ASCII, without surrounding spaces")
    return token


class TokenInterceptor(grpc.ServerInterceptor):
    """Rejects calls without the token with UNAUTHENTICATED; the time that this takes does not
    depend on how much of the token was right. Only the health check (not its watch) is open."""

    def __init__(self, token: str) -> None:
        self._expected = (_SCHEME + check_token(token)).encode()
        self._rejections: dict[bool, Any] = {
            True: grpc.stream_stream_rpc_method_handler(_reject),
            False: grpc.unary_unary_rpc_method_handler(_reject),
        }
        self._checks = threading.BoundedSemaphore(_CHECKS)

    def intercept_service(
        self, continuation: Callable[[Any], Any], handler_call_details: Any
    ) -> Any:
        handler = continuation(handler_call_details)
        if handler is None or self._is_shown(handler_call_details.invocation_metadata):
            return handler
        if handler_call_details.method == HEALTH_CHECK:
            return self._open(handler)
        return self._rejections[_streams(handler)]

    def _is_shown(self, metadata: Sequence[tuple[str, str | bytes]]) -> bool:
        shown = [value for key, value in metadata if key == _HEADER]
        value = shown[0] if len(shown) == 1 else ""
        raw = value.encode(errors="replace") if isinstance(value, str) else value
        return hmac.compare_digest(raw, self._expected)

    def _open(self, check: Any) -> Any:
        """The handler of the health check for clients without a token. gRPC waits for their
        requests in threads, so that the number of concurrent checks is limited."""

        def answer(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            if not self._checks.acquire(blocking=False):
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many health checks at once")
            try:
                for request in requests:
                    return check.unary_unary(request, context)
                return context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request is missing")
            finally:
                self._checks.release()

        return grpc.stream_unary_rpc_method_handler(
            answer, check.request_deserializer, check.response_serializer
        )


def _streams(handler: Any) -> bool:
    return bool(handler.request_streaming or handler.response_streaming)


def _reject(_request: object, context: grpc.ServicerContext) -> Any:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, "a valid token is needed")

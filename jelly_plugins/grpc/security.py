"""Access control: TLS with certificates of one or both sides, and a token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import grpc

from ..errors import SourceError

#: A file in PEM, or what is in one.
Pem: TypeAlias = str | Path | bytes

HEADER: Final = "authorization"


def _read(pem: Pem | None) -> Any:
    if pem is None or isinstance(pem, bytes):
        return pem
    try:
        return Path(pem).read_bytes()
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise SourceError(message, source=str(pem)) from error


@dataclass(frozen=True, kw_only=True)
class ServerTls:
    """The certificates of a server, and the clients that it accepts.

    :ivar certificate: its certificate, and those between it and the authority: a file or its bytes.
    :ivar key: its private key.
    :ivar client_ca: the authority whose certificates clients must present (mutual TLS); None
        accepts clients without one.
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
            root_certificates=_read(self.client_ca),
            require_client_auth=self.client_ca is not None,
        )


@dataclass(frozen=True, kw_only=True)
class ClientTls:
    """The servers that a client trusts, and its own credentials.

    :ivar ca: the authority of the server's certificate; None for those that gRPC trusts.
    :ivar certificate: the client's certificate, for a server that requires one.
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
            root_certificates=_read(self.ca),
            private_key=_read(self.key),
            certificate_chain=_read(self.certificate),
        )


def authorization(token: str | None) -> tuple[tuple[str, str], ...]:
    """The metadata of a call with a token.

    >>> authorization("secret")
    (('authorization', 'Bearer secret'),)
    """
    return () if token is None else ((HEADER, f"Bearer {check_token(token)}"),)


def check_token(token: str) -> str:
    """A token as it is.

    :raises ValueError: it is empty, or no header can have it.
    """
    if not token or not token.isascii() or not token.isprintable() or token != token.strip():
        raise ValueError("a token must be printable ASCII, without surrounding spaces")
    return token

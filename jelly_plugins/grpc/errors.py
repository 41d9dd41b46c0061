"""Errors to statuses of gRPC, and back."""

from __future__ import annotations

import logging
from typing import Any, Final

import grpc

from ..codec.common.wire import check_empty
from ..errors import JellyError, ServiceError, WireError

LOGGER: Final = logging.getLogger("jelly_plugins.grpc")

#: Characters of a message to the other side, at most: it travels in a header.
_LONGEST: Final = 500


def service_error(error: Exception, otherwise: str) -> ServiceError:
    """What the other side is told of an error on this side.

    :param otherwise: the status of a JellyError that has none. What is no JellyError is no matter
        of the other side's: it is logged, and told without words.
    """
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, JellyError):
        # Where a source of ours lies is none of the other side's business.
        error.source = None
        return ServiceError(str(error)[:_LONGEST], status=otherwise)
    LOGGER.error("a call failed", exc_info=error)
    return ServiceError("the service failed", status="INTERNAL")


def abort(context: Any, error: ServiceError) -> None:
    """End a call on the server.

    :raises Exception: always, which gRPC takes for the end of the call.
    """
    status = grpc.StatusCode.__members__.get(error.status)
    if status in (None, grpc.StatusCode.OK):
        status = grpc.StatusCode.UNKNOWN
    words = " ".join(error.message.split())[:_LONGEST]
    context.abort(status, words.encode(errors="backslashreplace").decode())


def check_received(answer: bytes, failure: Exception | None, sent: bool, target: str) -> None:
    """Check the answer of a server to a published stream.

    :param failure: of the data that was to be sent.
    :param sent: whether all of it was sent.
    :raises Exception: the failure.
    :raises ServiceError: the answer came too early, or is not an RdfStreamReceived.
    """
    if failure is not None:
        raise failure
    if not sent:
        raise ServiceError(
            "the server answered before it had received all of the stream",
            status="DATA_LOSS",
            source=target,
        )
    try:
        check_empty(answer, 0, len(answer), "RdfStreamReceived")
    except WireError as error:
        raise ServiceError(
            f"the server's answer is malformed: {error.message}", status="INTERNAL", source=target
        ) from error


def part_error() -> ServiceError:
    """What a server raises where an application returns before it has taken all of a stream."""
    return ServiceError("the service took only a part of the stream", status="INTERNAL")


def closed_error(target: str) -> ServiceError:
    """What a client raises where a stream was to be whole and was closed before its end."""
    return ServiceError("closed before its end", status="CANCELLED", source=target)


def received_error(error: grpc.RpcError, target: str) -> ServiceError:
    """What a client raises for a call that ended with a status."""
    call: Any = error
    status: grpc.StatusCode = call.code() or grpc.StatusCode.UNKNOWN
    return ServiceError(call.details() or "no reason is given", status=status.name, source=target)

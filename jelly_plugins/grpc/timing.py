"""Bounds on how long calls take: in all, and while a server waits for a client that neither sends
nor reads.

A client is idle only while the server waits for it. A subscriber of a topic without news is not
idle; a subscriber that does not read what it was sent is.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

import grpc

from .frames import iterate
from .security import HEALTH_CHECK
from .wire import SERVICE

#: Number of checks of all calls within a bound, and the maximum seconds between two checks.
_LOOKS: Final = 4
_SECONDS: Final = 1.0
#: Seconds that a health check may take, which clients without a token may call too.
_CHECK_SECONDS: Final = 10


class TimeInterceptor(grpc.ServerInterceptor):
    """Cancels calls of any service whose client is idle, and streams that take too long.

    A handler of one request waits for it here, because gRPC would wait for it in a thread of the
    pool without a bound.

    :param idle: seconds for which a client may be idle; None for no bound.
    :param seconds: that a stream of :data:`.wire.SERVICE` may take; None for no bound.

    A call is cancelled at most a quarter of the bound too late, and at most a second.
    """

    def __init__(self, idle: float | None, seconds: float | None) -> None:
        self._idle = math.inf if idle is None else idle
        self._seconds = math.inf if seconds is None else seconds
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="jelly-grpc-time", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watching thread."""
        self._stopped.set()
        self._thread.join()

    def intercept_service(
        self, continuation: Callable[[Any], Any], handler_call_details: Any
    ) -> Any:
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        behavior = (
            handler.unary_unary
            or handler.unary_stream
            or handler.stream_unary
            or handler.stream_stream
        )
        if getattr(behavior, "experimental_non_blocking", False):
            # The watch of the health service, which takes no thread.
            return handler

        bound = math.inf
        if SERVICE in handler_call_details.method:
            bound = self._seconds
        elif handler_call_details.method == HEALTH_CHECK:
            bound = _CHECK_SECONDS

        def asked(call: _Call) -> Any:
            if handler.request_streaming:
                return call
            request = next(call, None)
            if request is None:
                call.context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request is missing")
            return request

        def answer(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            with self._watched(requests, context, bound) as call:
                return behavior(asked(call), context)

        def answers(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            with self._watched(requests, context, bound) as call:
                for each in iterate(behavior(asked(call), context)):
                    call.since = time.monotonic()
                    # gRPC comes back here once it has sent this.
                    yield each
                    call.since = None

        codecs = (handler.request_deserializer, handler.response_serializer)
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(answers, *codecs)
        return grpc.stream_unary_rpc_method_handler(answer, *codecs)

    @contextmanager
    def _watched(
        self, requests: Iterator[Any], context: grpc.ServicerContext, seconds: float
    ) -> Iterator[_Call]:
        call = _Call(requests, context, time.monotonic() + seconds)
        with self._lock:
            self._calls.add(call)
        try:
            yield call
        finally:
            with self._lock:
                self._calls.remove(call)

    def _watch(self) -> None:
        between = min(_SECONDS, self._idle / _LOOKS, self._seconds / _LOOKS)
        while not self._stopped.wait(between):
            with self._lock:
                calls = tuple(self._calls)
            now = time.monotonic()
            for call in calls:
                since = call.since
                if now >= call.deadline or (since is not None and now - since >= self._idle):
                    call.context.cancel()


class _Call:
    """A call, and its requests as an iterator.

    :ivar deadline: when it is cancelled.
    :ivar since: since when the server has waited for the client; None if it does not wait.
    """

    def __init__(
        self, requests: Iterator[Any], context: grpc.ServicerContext, deadline: float
    ) -> None:
        self._requests = requests
        self.context = context
        self.deadline = deadline
        self.since: float | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        self.since = time.monotonic()
        try:
            return next(self._requests)
        finally:
            self.since = None

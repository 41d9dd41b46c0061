"""A bound on how long a server waits for a client that neither sends nor reads.

Only time in which the server waits for the client counts. A subscriber of a topic without news is
not idle; a subscriber that does not read what it was sent is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

import grpc

from .frames import iterate

#: How often waiting calls are looked at while the bound passes.
_LOOKS: Final = 4


class IdleInterceptor(grpc.ServerInterceptor):
    """Cancels calls of any service whose client is idle.

    A handler of one request waits for it here, because gRPC would wait for it in a thread of the
    pool without a bound.

    :param seconds: how long a client may be idle; at most a quarter more passes.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="jelly-grpc-idle", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
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

        def asked(call: _Call) -> Any:
            if handler.request_streaming:
                return call
            request = next(call, None)
            if request is None:
                call.context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request is missing")
            return request

        def answer(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            with self._watched(requests, context) as call:
                return behavior(asked(call), context)

        def answers(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            with self._watched(requests, context) as call:
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
    def _watched(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[_Call]:
        call = _Call(requests, context)
        with self._lock:
            self._calls.add(call)
        try:
            yield call
        finally:
            with self._lock:
                self._calls.remove(call)

    def _watch(self) -> None:
        between = min(self._seconds / _LOOKS, threading.TIMEOUT_MAX)
        while not self._stopped.wait(between):
            with self._lock:
                calls = tuple(self._calls)
            for call in calls:
                since = call.since
                if since is not None and time.monotonic() - since >= self._seconds:
                    call.context.cancel()


class _Call:
    """A call, and its requests as an iterator.

    :ivar since: since when the server has waited for the client; None if it does not wait.
    """

    def __init__(self, requests: Iterator[Any], context: grpc.ServicerContext) -> None:
        self._requests = requests
        self.context = context
        self.since: float | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        self.since = time.monotonic()
        try:
            return next(self._requests)
        finally:
            self.since = None

"""An S3 server on loopback, whose requests are counted, and to which everything may happen."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any
from urllib.request import Request, urlopen

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

BUCKET = "bucket"
SECRET = "the/secret+of=all"

_SIGNED = (
    "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
    "Signature=x"
)


@dataclass(frozen=True)
class Asked:
    """A request.

    :ivar number: from 0, since the faults were set.
    :ivar agent: what the client calls itself.
    """

    number: int
    method: str
    path: str
    query: str
    agent: str


#: What is to happen to a request: nothing (None), ``"failed"``: it is not done; ``"lost"``: it is
#: done, and reported as failed; ``"unheard"``: it is done, and nothing is reported for long;
#: ``"expired"``: the credentials are rejected; ``"denied"``: the key is wrong; ``"region"``:
#: the region is; ``"conflict"``: something is in the way; ``"page"``: a proxy answers, with a page
#: for people; ``"unconditional"``: it is done, whatever it asks for.
Fault = Callable[[Asked], str | None]


class S3Server:
    """The server; ``url`` is a root in its one bucket."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = Lock()
        self._stopped = Event()
        self._fault: Fault = lambda _: None
        self._asked = 0
        self.counts: Counter[str] = Counter()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.make_bucket(BUCKET)
        self.counts.clear()

    def make_bucket(self, name: str) -> None:
        made = Request(f"{self.endpoint}/{name}", b"", {"Authorization": _SIGNED}, method="PUT")
        with urlopen(made):
            pass

    def environment(self) -> dict[str, str]:
        """The same for all that look at the environment."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "AKIAOFNOBODY",
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def options(self, **more: str) -> dict[str, str]:
        """A response to a client; the client retries only if it says so."""
        return {
            "endpoint": self.endpoint,
            "allow_http": "true",
            "region": "us-east-1",
            "access_key_id": "AKIAOFNOBODY",
            "secret_access_key": SECRET,
            "max_retries": "0",
            **more,
        }

    @property
    def asked(self) -> int:
        """Requests since the faults were set."""
        return self._asked

    def root(self, name: str) -> str:
        return f"s3://{BUCKET}/{name}"

    def happens(self, fault: Fault | None = None) -> None:
        """From now on this happens to requests, or nothing does."""
        with self._lock:
            self._asked = 0
            self._fault = fault or (lambda _: None)

    def stop(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._thread.join()

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        with self._lock:
            asked = Asked(
                self._asked,
                environ["REQUEST_METHOD"],
                environ["PATH_INFO"],
                environ["QUERY_STRING"],
                environ.get("HTTP_USER_AGENT", ""),
            )
            self._asked += 1
            kind = "LIST" if "list-type" in asked.query else asked.method
            self.counts[kind] += 1
            self.counts["requests"] += 1
            self.counts["bytes put"] += int(environ.get("CONTENT_LENGTH") or 0)
        fault = self._fault(asked)
        if fault == "expired":
            return _error(start, "403 Forbidden", "ExpiredToken")
        if fault == "denied":
            return _error(start, "403 Forbidden", "SignatureDoesNotMatch")
        if fault == "region":
            return _error(start, "400 Bad Request", "AuthorizationHeaderMalformed")
        if fault == "unconditional":
            environ.pop("HTTP_IF_NONE_MATCH", None)
            fault = None
        if fault == "conflict":
            return _error(start, "409 Conflict", "OperationAborted")
        if fault == "page":
            start("200 OK", [("Content-Type", "text/html")])
            return [b"<html>Please log in</html>"]
        if fault != "failed":
            answer = b"".join(self._app(environ, _unsaid if fault else start))
            if fault is None:
                self.counts["bytes got"] += len(answer) if kind == "GET" else 0
                return [answer]
        if fault == "unheard":
            self._stopped.wait(10)
        start("500 Internal Server Error", [("Content-Type", "text/plain")])
        return [b"the server has " + SECRET.encode()]


def _error(start: Callable[..., Any], status: str, code: str) -> Iterable[bytes]:
    """An answer as object stores give it, with more than anyone should see."""
    start(status, [("Content-Type", "application/xml")])
    return [f"<Error><Code>{code}</Code><Message>{SECRET}</Message></Error>".encode()]


def _unsaid(*_: Any, **__: Any) -> None:
    """Instead of the head of a response."""

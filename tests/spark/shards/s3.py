"""An S3 server on loopback, whose requests are counted and may fail."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from threading import Lock, Thread
from typing import Any
from urllib.request import Request, urlopen

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

BUCKET = "bucket"
USER = "AKIAOFNOBODY"
SECRET = "the/secret+of=all"

_SIGNED = (
    "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
    "Signature=x"
)

#: Gets the method and the path of a request. Returns what happens to it: nothing (None);
#: ``"failed"``: it is not done; ``"lost"``: it is done, and reported as failed; ``"denied"``: the
#: key is wrong.
Fault = Callable[[str, str], str | None]


class S3Server:
    """moto's server, with one bucket."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = Lock()
        self._fault: Fault = lambda *_: None
        self.counts: Counter[str] = Counter()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        made = Request(f"{self.endpoint}/{BUCKET}", b"", {"Authorization": _SIGNED}, method="PUT")
        with urlopen(made):
            self.counts.clear()

    def options(self, **more: str) -> dict[str, str]:
        """Settings of a client; it retries only if ``more`` says so."""
        return {
            "endpoint": self.endpoint,
            "allow_http": "true",
            "region": "us-east-1",
            "access_key_id": USER,
            "secret_access_key": SECRET,
            "max_retries": "0",
            **more,
        }

    def root(self, name: str) -> str:
        return f"s3://{BUCKET}/{name}"

    def happens(self, fault: Fault | None = None) -> None:
        """Set what happens to requests from now on; nothing by default."""
        self._fault = fault or (lambda *_: None)

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        kind = "LIST" if "list-type" in environ["QUERY_STRING"] else method
        with self._lock:
            self.counts[kind] += 1
            self.counts["requests"] += 1
            self.counts["bytes put"] += int(environ.get("CONTENT_LENGTH") or 0)
            fault = self._fault(method, environ["PATH_INFO"])
        if fault == "denied":
            start("403 Forbidden", [("Content-Type", "application/xml")])
            code, text = "SignatureDoesNotMatch", SECRET
            return [f"<Error><Code>{code}</Code><Message>{text}</Message></Error>".encode()]
        if fault != "failed":
            answer = b"".join(self._app(environ, start if fault is None else lambda *_, **__: None))
            if fault is None:
                self.counts["bytes got"] += len(answer) if kind == "GET" else 0
                return [answer]
        start("500 Internal Server Error", [("Content-Type", "text/plain")])
        return [b"the server has " + SECRET.encode()]

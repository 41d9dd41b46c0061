"""A client and a server generated from the original ``grpc.proto``, independent of this package.

The tests run it as a separate program, because protobuf has one pool for all definitions of a
process.

    plain.py FOLDER publish TARGET FILE…
    plain.py FOLDER subscribe TARGET TOPIC [NAME=NUMBER…]
    plain.py FOLDER serve FILE…

``FOLDER`` contains the generated modules. A file is one frame. The program writes each received
frame to stdout as a line in hexadecimal; ``serve`` first writes its port, then the published
frames.
"""

from __future__ import annotations

import sys
from concurrent import futures
from pathlib import Path
from typing import Any


def main(folder: str, command: str, *arguments: str) -> None:
    sys.path.insert(0, folder)
    import grpc
    import grpc_pb2  # type: ignore[import-not-found]
    import grpc_pb2_grpc  # type: ignore[import-not-found]
    import rdf_pb2  # type: ignore[import-not-found]

    def frames(names: tuple[str, ...]) -> Any:
        for name in names:
            yield rdf_pb2.RdfStreamFrame.FromString(Path(name).read_bytes())

    def show(frame: Any) -> None:
        print(frame.SerializeToString(deterministic=True).hex(), flush=True)

    if command == "serve":

        class Servicer(grpc_pb2_grpc.RdfStreamServiceServicer):  # type: ignore[misc]
            def SubscribeRdf(self, request: Any, context: Any) -> Any:  # noqa: N802
                if request.topic != "weather":
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "only weather here")
                yield from frames(arguments)

            def PublishRdf(self, requests: Any, _context: Any) -> Any:  # noqa: N802
                for frame in requests:
                    show(frame)
                return grpc_pb2.RdfStreamReceived()

        server = grpc.server(futures.ThreadPoolExecutor(4))
        grpc_pb2_grpc.add_RdfStreamServiceServicer_to_server(Servicer(), server)
        print(server.add_insecure_port("127.0.0.1:0"), flush=True)
        server.start()
        server.wait_for_termination()
        return
    target, *rest = arguments
    with grpc.insecure_channel(target) as channel:
        stub = grpc_pb2_grpc.RdfStreamServiceStub(channel)
        try:
            if command == "publish":
                stub.PublishRdf(frames(tuple(rest)))
            else:
                asked = {name: int(number) for name, number in (x.split("=") for x in rest[1:])}
                request = grpc_pb2.RdfStreamSubscribe(topic=rest[0])
                if asked:
                    request.requested_options.CopyFrom(rdf_pb2.RdfStreamOptions(**asked))
                for frame in stub.SubscribeRdf(request):
                    show(frame)
        except grpc.RpcError as error:
            found: Any = error
            sys.exit(f"{found.code().name}: {found.details()}")


if __name__ == "__main__":
    main(*sys.argv[1:])

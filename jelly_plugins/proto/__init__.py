"""Jelly's messages as Protocol Buffers classes: ``rdf_pb2``, ``patch_pb2``, ``grpc_pb2``.

For code that uses Protocol Buffers objects: the gRPC server, which describes itself by them,
conformance and tests. The codec reads and writes the wire format itself and imports nothing from
here, so that protobuf comes with the extra ``grpc`` alone.

The classes live in a descriptor pool of their own, so that another package may register the same
files in protobuf's default pool (pyjelly does), before or after.

>>> from jelly_plugins.proto import rdf_pb2
>>> rdf_pb2.RdfStreamFrame(rows=[{"name": {"value": "x"}}]).SerializeToString().hex()
'0a054a03120178'
"""

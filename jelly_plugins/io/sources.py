"""Where bytes come from: paths, open files, bytes, URLs; compressed or not; and formats by name.

:class:`Input` yields chunks of bytes as they arrive, of any size, and never holds more than one of
them. Compression is detected from the content, the format follows from the name.
"""

from __future__ import annotations

import bz2
import io
import os
import re
import sys
import zlib
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import StrEnum
from typing import Any, BinaryIO, Final, Protocol, Self, TypeAlias, TypeGuard

from ..errors import JellyError, MissingExtraError, SourceError, TruncatedError, shown
from ..lazy import library


class Readable(Protocol):
    """A source of bytes: an open binary file of any kind."""

    def read(self, size: int, /) -> bytes: ...


#: What every reading function takes: a path, a URL, an open binary file, or the bytes themselves.
Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | Readable

CHUNK: Final = 1 << 16

#: A chunk of this size unpacks to half a megabyte at most with gzip, and to some 16 MiB with zstd.
#: With bz2 it could be half a gigabyte, but bz2 can be stopped.
_PACKED_CHUNK: Final = 512

_MAGIC: Final = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
#: What may come before the data of Zstandard, and does in files of pzstd: a frame to skip, whose
#: first byte is 0x50 to 0x5f (RFC 8878).
_SKIPPABLE: Final = b"\x2a\x4d\x18"
_MAGIC_BYTES: Final = 4
#: The first bytes of files of other programs, which this package does not read.
_UNSUPPORTED: Final = {
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zX": "xz",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf": "7z",
}

#: Seconds to wait for an answer of an HTTP server.
_TIMEOUT: Final = 60
#: The status of an HTTP response that is a file, of one that another server may have changed, and
#: of one that is a part of a file.
_OK: Final = 200
_TRANSFORMED: Final = 203
_PARTIAL_CONTENT: Final = 206

#: Encodings of HTTP responses that their bytes do not show.
_UNSUPPORTED_ENCODINGS: Final = ("br", "compress", "deflate")
#: A user and a password in a URL.
_PASSWORD: Final = re.compile(r"(?<=://)([^/?#@:\s]*):[^/?#\s]*@")
_HTTP: Final = re.compile("https?://", re.IGNORECASE)
_QUERY: Final = re.compile(r"[?#].*", re.DOTALL)


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def zstandard_module() -> Any:
    """The zstandard library."""
    return library("zstandard", "Zstandard", "zstd")


_DECOMPRESSORS: Final[dict[str, Callable[[], _Decompressor]]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bz2": bz2.BZ2Decompressor,
    "zstd": lambda: zstandard_module().ZstdDecompressor().decompressobj(),
}


class Closing(ABC):
    """An object that is closed at the end of a ``with`` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close what is open."""


def compression_in(head: bytes) -> str | None:
    """The compression of what begins with these bytes; None if it is not compressed."""
    for magic, compression in _MAGIC.items():
        if head.startswith(magic):
            return compression
    if head[:1] and head[0] >> 4 == 5 and head.startswith(_SKIPPABLE, 1):
        return "zstd"
    return None


def name_of(named: object) -> str:
    """The name of a source or destination in error messages: its path, the name of an open file, or
    a description of anything else.
    """
    if isinstance(named, bytes | bytearray | memoryview):
        return "<bytes>"
    if isinstance(named, str | os.PathLike):
        path = os.fspath(named)
        return without_password(path) if "://" in path else path
    return str(getattr(named, "name", None) or f"<{type(named).__name__}>")


class Input(Closing):
    """An open source of bytes, decompressed; use it in a ``with`` block.

    :ivar name: its name in error messages.
    :ivar compression: ``"gzip"``, ``"bz2"``, ``"zstd"`` or None.
    """

    def __init__(self, src: Source) -> None:
        #: The file, if it was opened here.
        self._opened: Any = None
        self.name = name_of(src)
        if isinstance(src, bytes | bytearray | memoryview):
            # A view may have gaps.
            file: Any = io.BytesIO(bytes(src))
        elif isinstance(src, str | os.PathLike):
            path = os.fspath(src)
            file = self._opened = _open_url(path) if "://" in path else _open_path(path)
        elif hasattr(src, "read"):
            file = src
        else:
            raise TypeError(f"a path, bytes or an open binary file is needed, not {shown(src)}")
        # read1 returns the available bytes, where read would wait for all requested ones.
        self._file = file
        self._read = getattr(file, "read1", file.read)
        self._responses = _responses(file)
        self._head = b""
        try:
            # A source may return its bytes one by one.
            while len(self._head) < _MAGIC_BYTES and (chunk := self._read_chunk()):
                self._head += chunk
        except BaseException:
            self.close()
            raise
        self.compression = compression_in(self._head)
        if (unsupported := _UNSUPPORTED.get(self._head[:_MAGIC_BYTES])) is not None:
            self.close()
            raise SourceError(
                f"the source is compressed with {unsupported}, which is not supported: "
                "use gzip, bz2 or zstd",
                source=self.name,
            )

    def close(self) -> None:
        """Close what was opened here; a file that the caller opened stays open."""
        if self._opened is not None:
            self._opened.close()

    def chunks(self) -> Iterator[bytes]:
        """The source's bytes, once."""
        try:
            if self.compression is None:
                yield from self._raw()
            else:
                yield from _decompress(self._raw(), _DECOMPRESSORS[self.compression])
        except JellyError as error:
            error.locate(source=self.name)
            raise

    def _raw(self) -> Iterator[bytes]:
        for response in self._responses:
            _check_whole(response)
        head, self._head = self._head, b""
        if head:
            yield head
        while chunk := self._read_chunk():
            yield chunk
        # Reading a response to its end does not raise for missing bytes: http.client checks only
        # where all is read at once, old versions of urllib3 nowhere.
        missing = 0
        for response in self._responses:
            missing += getattr(response, "length_remaining", None) or 0
            missing += getattr(response, "length", None) or 0
        if missing:
            raise TruncatedError(
                f"the HTTP response lacks {missing:,} bytes of its Content-Length; fetch it again"
            )

    def _read_chunk(self) -> bytes:
        try:
            chunk = self._read(CHUNK)
            if chunk == b"" and not _is_blocking(self._file):
                # At the end of the source, or before more of it; only read knows.
                chunk = self._file.read(1)
        except UnicodeDecodeError:
            chunk = ""
        except EOFError as error:
            # What gzip and bz2 files raise.
            raise TruncatedError(f"ends too early: {error}", source=self.name) from error
        except JellyError:
            # A file of ours, such as one whose bytes come from a service.
            raise
        except Exception as error:
            http_client = sys.modules.get("http.client")
            if http_client is not None and isinstance(error, http_client.IncompleteRead):
                raise TruncatedError(
                    "the HTTP response is incomplete; fetch it again", source=self.name
                ) from error
            # A file object of another library raises whatever that library does (zlib.error,
            # an HTTP client's exceptions); all of them mean the same here.
            raise SourceError(f"cannot be read: {error}", source=self.name) from error
        if chunk is None:
            raise SourceError(
                "the file is in non-blocking mode and has no data yet: set it to blocking mode",
                source=self.name,
            )
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise SourceError("the file is not open in binary mode", source=self.name)
        return bytes(chunk)


def without_mark(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of a text in UTF-8 without its byte order mark, if any."""
    iterator = iter(chunks)
    opening = b""
    for chunk in iterator:
        opening += chunk
        if len(opening) >= len(BOM_UTF8) or not BOM_UTF8.startswith(opening):
            break
    if opening := opening.removeprefix(BOM_UTF8):
        yield opening
    yield from iterator


def is_source(src: object) -> TypeGuard[Source]:
    """Whether an object can be read: a path, URL, open binary file or bytes."""
    data = isinstance(src, str | os.PathLike | bytes | bytearray | memoryview)
    return data or hasattr(src, "read")


def rewinder(src: Any) -> Callable[[], object] | None:
    """A function that makes a source ready to be read again from its current position; None if
    there is none.

    :param src: a :data:`Source`. Any other object with a position is accepted too, such as a file
        that is being written.
    """
    if isinstance(src, str | os.PathLike):
        # A URL is fetched again; for a missing path, opening it raises a better error.
        special = os.path.exists(src) and not os.path.isfile(src)
        return None if special else lambda: None
    if isinstance(src, bytes | bytearray | memoryview):
        return lambda: None
    try:
        start = src.tell() if src.seekable() else None
    except (AttributeError, OSError, ValueError):
        # Not a file, or a closed one; here, too, opening it raises a better error.
        return None
    return None if start is None else lambda: src.seek(start)


def _is_blocking(file: Any) -> bool:
    try:
        return os.get_blocking(file.fileno())
    except (AttributeError, OSError, ValueError):
        # Not a file of the system.
        return True


def _responses(file: Any) -> list[Any]:
    """The HTTP responses of ``http.client`` or urllib3 in a file.

    :param file: a response, or a file object that wraps one.
    """
    http_client = sys.modules.get("http.client")
    found = []
    # A BufferedReader has the file that it wraps as "raw", a GzipFile as "fileobj".
    for each in (file, getattr(file, "raw", None), getattr(file, "fileobj", None)):
        is_response = http_client is not None and isinstance(each, http_client.HTTPResponse)
        if is_response or hasattr(each, "length_remaining"):
            found.append(each)
    return found


def _check_whole(response: Any) -> None:
    """Reject an HTTP response that is not a file, or only a part of one. A response does not have
    the request, so that a part which was requested is rejected as well.
    """
    if response.status == _PARTIAL_CONTENT:
        raise TruncatedError(
            "the HTTP response is a part of the file; fetch the whole file, or give the bytes of "
            "the part"
        )
    if response.status not in (_OK, _TRANSFORMED, None):
        raise SourceError(_answered(response.status, response.reason))


def _answered(status: int, reason: str | None) -> str:
    """The message for an HTTP status; HTTP/2 has no reason phrases, and HTTP/1.1 may omit them."""
    from http import HTTPStatus

    if not reason and status in set(HTTPStatus):
        reason = HTTPStatus(status).phrase
    # urllib explains an endless redirect in further lines.
    return f"the server answered {status} {(reason or '').partition(chr(10))[0]}".strip()


def without_password(text: str) -> str:
    """A text in which the passwords of URLs are hidden."""
    return _PASSWORD.sub(r"\1:***@", text)


def _open_path(name: str) -> BinaryIO:
    try:
        return open(name, "rb")
    except (OSError, ValueError) as error:
        raise SourceError(
            getattr(error, "strerror", None) or str(error), source=name or "''"
        ) from None


def _open_url(url: str) -> Any:
    if _HTTP.match(url):
        return _open_http(url)
    if url.lower().startswith("file://"):
        return _open_file_url(url)
    try:
        import fsspec  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise MissingExtraError.of(
            "URLs need a library", "remote", source=without_password(url)
        ) from None
    try:
        file: BinaryIO = fsspec.open(url, "rb").open()
    except ImportError as error:
        # A protocol that needs a library of its own.
        raise MissingExtraError(
            without_password(str(error)), source=without_password(url)
        ) from error
    except Exception as error:
        # Each protocol has a library of its own, with exceptions of its own.
        message = without_password(str(error)) or type(error).__name__
        raise SourceError(message, source=without_password(url)) from error
    return file


def _open_file_url(url: str) -> BinaryIO:
    from urllib.request import url2pathname

    host, slash, path = url[len("file://") :].partition("/")
    if host.lower() not in ("", "localhost"):
        raise SourceError("a file: URL must not name a host", source=url)
    try:
        return _open_path(url2pathname(slash + path))
    except SourceError as error:
        error.source = url
        raise


def _open_http(url: str) -> Any:
    # Most sources are not URLs, and these modules take a while to import.
    import base64
    from string import punctuation
    from urllib import request as urllib
    from urllib.error import HTTPError
    from urllib.parse import quote, unquote, urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        # As browsers do, with spaces and what is not ASCII.
        path, query = (quote(each, safe=punctuation) for each in (parts.path, parts.query))
        parts = parts._replace(netloc=host, path=path, query=query)
        request = urllib.Request(urlunsplit(parts))
        if at:
            # Another server, which this one may redirect to, does not get it.
            token = base64.b64encode(unquote(user).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        # Without handlers of ftp:// and others that a redirect may lead to.
        opener = urllib.OpenerDirector()
        for handler in (
            urllib.ProxyHandler,
            urllib.HTTPHandler,
            urllib.HTTPSHandler,
            urllib.HTTPRedirectHandler,
            urllib.HTTPErrorProcessor,
            urllib.HTTPDefaultErrorHandler,
            urllib.UnknownHandler,
        ):
            opener.add_handler(handler())
        response = opener.open(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        message = _answered(error.code, error.reason)
        raise SourceError(message, source=without_password(url)) from error
    except Exception as error:
        # http.client has exceptions of its own, and a URL may be none.
        message = without_password(str(getattr(error, "reason", error))) or type(error).__name__
        raise SourceError(message, source=without_password(url)) from error
    encoding = str(response.headers["Content-Encoding"]).lower()
    if encoding in _UNSUPPORTED_ENCODINGS:
        response.close()
        message = f"the server sent the encoding {encoding}, which was not requested"
        raise SourceError(message, source=without_password(url))
    return response


def _unpack(decompressor: _Decompressor, packed: bytes) -> Iterator[bytes]:
    """The unpacked bytes of ``packed``, in chunks of bounded size."""
    if not isinstance(decompressor, bz2.BZ2Decompressor):
        if unpacked := decompressor.decompress(packed):
            yield unpacked
        return
    while unpacked := decompressor.decompress(packed, CHUNK):
        yield unpacked
        packed = b""
        if decompressor.eof or decompressor.needs_input:
            return


def _decompress(chunks: Iterator[bytes], make: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Unpack one or more consecutive compressed streams."""
    decompressor: _Decompressor | None = None
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), _PACKED_CHUNK):
                packed = chunk[start : start + _PACKED_CHUNK]
                while packed:
                    if decompressor is None:
                        # Files may be padded with zeros between and after streams.
                        packed = packed.lstrip(b"\0")
                        if not packed:
                            break
                        decompressor = make()
                    yield from _unpack(decompressor, packed)
                    packed = b""
                    if decompressor.eof:
                        packed = decompressor.unused_data
                        decompressor = None
    except JellyError:
        raise
    except Exception as error:
        # The three libraries have no exception in common, and zstandard's is only known where it
        # is installed; nothing but them runs here.
        raise SourceError(f"the compressed data is corrupt: {error}") from error
    if decompressor is not None:
        raise TruncatedError("the compressed data ends too early")


# Names of formats


#: Compression by the name's ending.
SUFFIXES: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
#: Those of compressions that readers reject by name.
UNSUPPORTED_SUFFIXES: Final = (".xz", ".lz4")


def ending_of(named: object) -> str:
    """The ending of a path, of the path in an HTTP URL, or of an open file's name, without that of
    a compression.
    """
    name = os.fspath(named) if isinstance(named, str | os.PathLike) else getattr(named, "name", "")
    if not isinstance(name, str):
        return ""
    if _HTTP.match(name):
        name = _QUERY.sub("", name)
    stem, ending = os.path.splitext(name.lower())
    return os.path.splitext(stem)[1] if ending in (*SUFFIXES, *UNSUPPORTED_SUFFIXES) else ending


class Format(StrEnum):
    """An RDF format; its value is a short name, which is also its usual file ending.

    :ivar has_graphs: whether it can name graphs.
    :ivar is_binary: whether it is not text.
    """

    has_graphs: bool
    is_binary: bool

    JELLY = "jelly", True, True
    #: Frames of Jelly in the text form of Protocol Buffers.
    JELLY_TEXT = "jelly-text", True
    N_TRIPLES = "nt"
    N_QUADS = "nq", True
    TURTLE = "ttl"
    TRIG = "trig", True
    RDF_XML = "rdf"
    JSON_LD = "jsonld", True
    RDF_THRIFT = "rt", True, True
    RDF_PROTOBUF = "rpb", True, True

    def __new__(cls, name: str, has_graphs: bool = False, is_binary: bool = False) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.has_graphs = has_graphs
        made.is_binary = is_binary
        return made


_ENDINGS: Final = {f".{each}": each for each in Format} | {
    ".ntriples": Format.N_TRIPLES,
    ".nquads": Format.N_QUADS,
    ".turtle": Format.TURTLE,
    ".owl": Format.RDF_XML,
    ".xml": Format.RDF_XML,
    ".txtpb": Format.JELLY_TEXT,
    ".trdf": Format.RDF_THRIFT,
    ".pbrdf": Format.RDF_PROTOBUF,
}


#: Other names of the formats, rdflib's among them; without hyphens and slashes.
_ALIASES: Final = {
    "jellytext": Format.JELLY_TEXT,
    "jellyrdf": Format.JELLY,
    "ntriples": Format.N_TRIPLES,
    "nt11": Format.N_TRIPLES,
    "nquads": Format.N_QUADS,
    "turtle": Format.TURTLE,
    "longturtle": Format.TURTLE,
    "rdfxml": Format.RDF_XML,
    "xml": Format.RDF_XML,
    "prettyxml": Format.RDF_XML,
    "streamingjsonld": Format.JSON_LD,
    "rdfthrift": Format.RDF_THRIFT,
    "rdfprotobuf": Format.RDF_PROTOBUF,
}

_MEDIA_TYPES: Final = {
    "application/x-jelly-rdf": Format.JELLY,
    "application/n-triples": Format.N_TRIPLES,
    "application/n-quads": Format.N_QUADS,
    "text/x-nquads": Format.N_QUADS,
    "text/turtle": Format.TURTLE,
    "application/turtle": Format.TURTLE,
    "application/x-turtle": Format.TURTLE,
    "application/trig": Format.TRIG,
    "application/rdf+xml": Format.RDF_XML,
    "application/ld+json": Format.JSON_LD,
    "application/rdf+thrift": Format.RDF_THRIFT,
    "application/rdf+protobuf": Format.RDF_PROTOBUF,
}


#: Names of formats, without hyphens, for suggestions.
FORMAT_NAMES: Final = (*_ALIASES, *Format)


class WithMediaType(Protocol):
    """A constant of a library that names a format, such as pyoxigraph's ``RdfFormat``."""

    @property
    def media_type(self) -> str: ...


#: A name of a format, see :func:`format_named`.
FormatName: TypeAlias = Format | str | WithMediaType


def format_named(name: FormatName) -> Format:
    """The format with a given name.

    :param name: a :class:`Format`, its short name or title, a file ending, a media type with or
        without parameters, a name that rdflib has for it, or pyoxigraph's ``RdfFormat``.
    """
    # pyoxigraph's constants have their media type.
    given = name if isinstance(name, str) else getattr(name, "media_type", None)
    lower = given.lower().strip() if isinstance(given, str) else ""
    plain = lower.replace("-", "").replace("/", "")
    if plain in ("n3", "notation3", "textn3"):
        raise ValueError(_NO_N3)
    found = (
        _MEDIA_TYPES.get(lower.partition(";")[0].strip())
        or _ENDINGS.get(lower)
        or _ENDINGS.get(f".{lower}")
        or _ALIASES.get(plain)
        or _ENDINGS.get(f".{plain}")
    )
    if found is None:
        hint = did_you_mean(plain, FORMAT_NAMES) if plain else ""
        raise ValueError(f"{shown(name)} is not one of the formats {', '.join(Format)}{hint}")
    return found


def did_you_mean(given: str, names: Collection[str]) -> str:
    """A suggestion for a misspelt name, for the end of a message."""
    from difflib import get_close_matches

    # No name is that long, and the search takes a time that grows with the length.
    close = get_close_matches(given[:100], list(names), 1)
    return f"; did you mean {close[0]}?" if close else ""


_NO_N3: Final = "Notation3 is not supported; if the text is Turtle, give the format turtle"

#: File endings that name a format.
ENDINGS: Final = tuple(_ENDINGS)


def format_of(named: object) -> Format | None:
    """The format that a path or the name of an open file ends in, compressed or not; None if
    unknown.
    """
    ending = ending_of(named)
    if ending == ".n3":
        raise SourceError(_NO_N3, source=name_of(named))
    return _ENDINGS.get(ending)

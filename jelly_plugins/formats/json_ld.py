"""JSON-LD for pyoxigraph's parser: remote contexts in their place, and bounds of all contexts.

Remote contexts are given by the caller, and never fetched.

Reference: JSON-LD 1.1 Processing Algorithms and API, section "Context Processing Algorithm".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, LimitError, TextError
from .reading import check_json, resolved, with_bounded_json
from .settings import Contexts

_KEY: Final = "@context"
_IMPORT: Final = "@import"
#: The key of a context, which may have escapes.
_MAY_BE_CONTEXT: Final = re.compile(rb'"@context"|\\u00[4-7]')
_KEY_BYTES: Final = 10
#: Contexts in contexts and values in values, at most.
_DEPTH: Final = 256
#: Terms of a context that others refer to in any way: pyoxigraph follows a chain of them by
#: recursion, which has crashed at 10,000. Contexts of some thousand terms refer to a few prefixes.
_REFERRED: Final = 256
#: Bytes of remote contexts in a document, each counted as often as it occurs.
_INLINED: Final = 16 << 20
#: Bytes of the shortest value that may have an IRI; and of IRIs that are not long.
_SHORTEST: Final = 4
_LONG_IRI: Final = 1 << 10
#: Contexts that may be nested in one another, and terms that may be copied.
_NESTED: Final = 32
_COPIES: Final = 10_000_000
_COPIES_PER_BYTE: Final = 4


def prepared(
    chunks: Iterable[bytes], contexts: Contexts | None, base: str | None, limits: Limits
) -> Iterator[bytes]:
    """A document as pyoxigraph reads it right.

    A document with contexts is held in memory, and ``limits.frame_bytes`` bounds its length.
    """
    parts: list[bytes] = []
    size = 0
    has_contexts = contexts is not None
    before = b""
    for chunk in with_bounded_json(chunks, limits):
        has_contexts = has_contexts or _MAY_BE_CONTEXT.search(before + chunk) is not None
        before = (before + chunk)[-_KEY_BYTES:]
        size += len(chunk)
        if size <= limits.frame_bytes:
            parts.append(chunk)
            continue
        if has_contexts:
            raise over(limits, "frame_bytes", size, "the length of a document with contexts")
        yield from parts
        parts.clear()
        yield chunk
    if not has_contexts:
        yield from parts
        return
    document = b"".join(parts)
    value = load_json(document)
    if contexts is not None:
        value = ContextLoader(contexts, base).inlined(value)
    costs = Costs(len(base or ""))
    costs.add(value)
    costs.check(len(document), limits)
    if contexts is not None:
        document = dump(value)
        check_json(document, limits)
    yield document


class Number:
    """A number as it is written: Python's would lose digits.

    :ivar text: as in JSON.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def load_json(data: bytes) -> Any:
    """A JSON value, with a :class:`Number` for each number."""
    try:
        return json.loads(
            data,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_reject_constant,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise TextError("values are nested too deeply") from None
    except ValueError as error:
        message = getattr(error, "msg", None) or str(error)
        line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
        raise TextError(f"malformed JSON: {message}", line=line, column=column) from None


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object has a key twice")
    return made


def dump(value: Any) -> bytes:
    """A value as JSON."""
    parts: list[str] = []
    try:
        _dump(value, parts.append)
        return "".join(parts).encode()
    except RecursionError:
        raise TextError("values are nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise TextError(f"not valid JSON: {error}") from None


_SCALAR: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _dump(value: Any, write: Callable[[str], object]) -> None:
    if isinstance(value, Number):
        write(value.text)
    elif isinstance(value, dict):
        mark = "{"
        for key, each in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            write(f"{mark}{_SCALAR(key)}:")
            _dump(each, write)
            mark = ","
        write("}" if value else "{}")
    elif isinstance(value, list | tuple):
        mark = "["
        for each in value:
            write(mark)
            _dump(each, write)
            mark = ","
        write("]" if value else "[]")
    else:
        write(_SCALAR(value))


class Costs:
    """What pyoxigraph makes of contexts: it copies all terms in force for each context and for each
    use of a scoped one, expands IRIs to any length, and follows terms by recursion.
    """

    def __init__(self, length: int = 0, outer: Any = None) -> None:
        #: Number of terms that are copied.
        self.copies = 0
        #: Maximum length of an IRI that a few characters abbreviate.
        self.longest = length
        #: Terms with contexts of their own.
        self._scoped: set[str] = set()
        #: Of the context in force: the length of its longest IRI, and its number of terms.
        self._in_force = self._context(outer, length, 0)

    def copy(self) -> Costs:
        """The costs so far."""
        made = Costs(self.longest)
        made.copies, made._in_force, made._scoped = self.copies, self._in_force, {*self._scoped}
        return made

    def add(self, document: Any) -> None:
        """Add a document whose remote contexts are in it."""
        try:
            self._value(document, *self._in_force, 0, 0)
        except RecursionError:
            raise TextError("values or terms are nested too deeply") from None

    def _value(self, value: Any, length: int, terms: int, nested: int, uses: int) -> None:
        """Add a value.

        :param uses: 2 for a value of a term with a context of its own: each item of a list is a use
            of it, and so are those of an object, which may be an index.
        """
        if isinstance(value, list):
            for each in value:
                self._value(each, length, terms, nested, uses)
            return
        self.copies += terms * (uses > 0)
        if isinstance(value, str):
            # It may be a type, which has a context as well.
            self.copies += terms * (value in self._scoped)
        if not isinstance(value, dict):
            return
        if _KEY in value:
            length, terms = self._context(value[_KEY], length, terms)
            nested += 1
            if nested > _NESTED:
                raise LimitError(f"contexts of JSON-LD are nested more than {_NESTED} deep")
        for key, each in _parts(value):
            if key != _KEY and (self._scoped or isinstance(each, dict | list)):
                self._value(each, length, terms, nested, 2 if key in self._scoped else uses - 1)

    def _context(self, value: Any, length: int, terms: int) -> tuple[int, int]:
        """The length of the longest IRI and the number of terms under a context."""
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str) or (isinstance(part, dict) and _IMPORT in part):
                raise _not_available(part if isinstance(part, str) else part[_IMPORT])
            if not isinstance(part, dict):
                continue
            length += _longest(part)
            terms += len(part)
            for name, each in part.items():
                if isinstance(each, dict) and _KEY in each:
                    self._scoped.add(name)
                    self._context(each[_KEY], length, terms)
        self.longest = max(self.longest, length)
        self.copies += terms
        return length, terms

    def check(self, size: int, limits: Limits) -> None:
        """Check the costs of documents of ``size`` bytes."""
        expanded = size // _SHORTEST * self.longest
        if self.longest > _LONG_IRI and expanded > limits.frame_expansion:
            what = "the length that IRIs of a document may come to"
            raise over(limits, "frame_expansion", expanded, what)
        if self.copies > _COPIES + _COPIES_PER_BYTE * size:
            raise LimitError(
                f"the terms in force at all contexts come to {self.copies:,}: more than "
                f"{_COPIES:,}, and {_COPIES_PER_BYTE} for each byte of the document"
            )


def _parts(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The members of an object that JSON-LD reads."""
    is_json = value.get("@type") == "@json"
    return ((key, each) for key, each in value.items() if not (is_json and key == "@value"))


def _not_available(iri: object) -> TextError:
    return TextError(
        f"the context {iri} is not available and never fetched: pass it with contexts="
    )


def _longest(context: dict[str, Any]) -> int:
    """The maximum length of an IRI that a term of a context abbreviates, with the terms that it
    refers to, the vocabulary and the base.
    """
    texts: dict[str, str] = {}
    referred: set[str] = set()
    for key, value in context.items():
        text = value
        strings = [key]
        if isinstance(value, dict):
            text = value.get("@id", value.get("@reverse", key))
            strings += (each for each in value.values() if isinstance(each, str))
        if isinstance(text, str):
            texts[key] = text
            strings.append(text)
        for each in strings:
            referred |= {each, each.partition(":")[0]} - {key}
    if len(referred & context.keys()) > _REFERRED:
        raise LimitError(f"more than {_REFERRED} terms of a context are used to define others")

    @cache
    def length(term: str) -> int:
        text = texts.get(term, "")
        prefix = text.partition(":")[0]
        return len(text) + (length(prefix) if prefix != term else 0)

    outer = sum(len(texts.get(name, "")) for name in ("@vocab", "@base"))
    return max(map(length, texts), default=0) + outer


class ContextLoader:
    """Substitutes contexts for their IRIs."""

    def __init__(self, contexts: Contexts | None, base: str | None) -> None:
        self._contexts = contexts
        self._base = base
        #: Contexts that were loaded, by IRI, and the bytes that they take.
        self._loaded: dict[str, tuple[Any, int]] = {}
        #: Bytes of contexts that were put in place.
        self._inlined = 0

    def inlined(self, value: Any) -> Any:
        """A document whose remote contexts are in it."""
        self._inlined = 0
        return self._document(value, self._base or "", (), 0)

    def context(self, value: Any) -> Any:
        """A context, with all that it refers to."""
        self._inlined = 0
        return self._context(value, self._base or "", (), 0)

    def _document(self, value: Any, base: str, within: tuple[str, ...], depth: int) -> Any:
        if depth > _DEPTH:
            raise TextError(f"values are nested more than {_DEPTH} deep")
        if isinstance(value, list):
            return [self._document(each, base, within, depth + 1) for each in value]
        if not isinstance(value, dict):
            return value
        made = {
            key: (self._context if key == _KEY else self._document)(each, base, within, depth + 1)
            for key, each in _parts(value)
        }
        return value | made

    def _context(self, value: Any, base: str, within: tuple[str, ...], depth: int) -> Any:
        if isinstance(value, str):
            return self._remote(resolved(value, base, "context"), within, depth)
        if isinstance(value, list):
            parts: list[Any] = []
            for each in value:
                part = self._context(each, base, within, depth)
                parts += part if isinstance(part, list) else [part]
            return parts
        if not isinstance(value, dict):
            return value
        # Definitions of terms have contexts of their own.
        made = {key: self._document(each, base, within, depth + 1) for key, each in value.items()}
        imported = made.pop(_IMPORT, None)
        if imported is None:
            return made
        if not isinstance(imported, str):
            raise TextError("@import must be the IRI of a context")
        context = self._remote(resolved(imported, base, "context"), within, depth)
        if not isinstance(context, dict):
            raise TextError(f"the context {imported} is imported, and is not one object")
        return context | made

    def _remote(self, iri: str, within: tuple[str, ...], depth: int) -> Any:
        if iri in within or len(within) > _DEPTH:
            raise TextError(f"the context {iri} contains itself")
        if iri not in self._loaded:
            found = self._load(iri)
            if isinstance(found, dict) and _KEY in found:
                found = found[_KEY]
            before = self._inlined
            made = self._context(found, iri, (*within, iri), depth + 1)
            self._inlined = before
            self._loaded[iri] = made, len(dump(made))
        made, size = self._loaded[iri]
        self._inlined += size
        if self._inlined > _INLINED:
            raise TextError(f"the contexts of a document come to more than {_INLINED} bytes")
        return made

    def _load(self, iri: str) -> Any:
        contexts = self._contexts
        if contexts is None:
            raise _not_available(iri)
        try:
            found = contexts[iri] if isinstance(contexts, Mapping) else contexts(iri)
            return json.loads(found) if isinstance(found, bytes) else found
        except JellyError:
            raise
        except KeyError:
            raise TextError(f"the context {iri} is not among those that were given") from None
        except Exception as error:
            # A loader of the caller's raises what it likes.
            raise TextError(f"the context {iri} cannot be loaded: {error}") from error

"""Remote contexts of JSON-LD, substituted for their IRIs: given by the caller, never fetched.

Reference: JSON-LD 1.1 Processing Algorithms and API, section "Context Processing Algorithm".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urljoin

from ..errors import JellyError, TextError

#: Where contexts come from: documents or contexts by IRI, parsed or as bytes of JSON, or a function
#: that gives one for an IRI.
Contexts: TypeAlias = Mapping[str, Any] | Callable[[str], Any]

_KEY: Final = "@context"
_IMPORT: Final = "@import"
#: Contexts in contexts, and values in values, at most.
_DEPTH: Final = 256
#: Bytes of remote contexts in a document, each counted as often as it occurs.
_INLINED: Final = 16 << 20


def dump(value: Any) -> bytes:
    """A value as JSON.

    :raises TextError: JSON has nothing like it.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except (TypeError, ValueError) as error:
        raise TextError(f"not valid JSON: {error}") from None


class IriLengths:
    """The maximum length of the IRIs that contexts abbreviate to a few characters.

    :ivar longest: their length.
    """

    def __init__(self, longest: int = 0) -> None:
        self.longest = longest
        self._outer = longest
        self._terms: dict[str, int] = {}

    def add(self, context: dict[str, Any]) -> None:
        """Note what a context defines.

        :raises TextError: terms refer to each other in a chain that is too long.
        """
        own: dict[str, str] = {}
        for key, value in context.items():
            text = value.get("@id") if isinstance(value, dict) else value
            if isinstance(text, str):
                own[key] = text
        while own:
            self._define(next(iter(own)), own, 0)

    def _define(self, term: str, own: dict[str, str], depth: int) -> None:
        if depth > _DEPTH:
            raise TextError(f"terms of a context refer to each other more than {_DEPTH} deep")
        text = own.pop(term)
        prefix, colon, _ = text.partition(":")
        # A base or a vocabulary may be relative to the one before it, and a term to the vocabulary.
        within = term if term.startswith("@") else "@vocab"
        if prefix in own:
            self._define(prefix, own, depth + 1)
        if not colon and within in own:
            self._define(within, own, depth + 1)
        before = self._terms.get(prefix, self._outer)
        if not colon:
            before = max(before, self._terms.get(within, self._outer))
        size = self._terms[term] = len(text) + before
        self.longest = max(self.longest, size)


class ContextLoader:
    """Substitutes contexts for their IRIs.

    :param contexts: where they come from; None for nowhere.
    :param base: IRI that relative ones are resolved against.
    """

    def __init__(self, contexts: Contexts | None, base: str | None) -> None:
        self._contexts = contexts
        self._base = base
        #: By IRI: contexts that were loaded, bytes that they take, and terms that are copied.
        self._loaded: dict[str, tuple[Any, int, int]] = {}
        #: Bytes of contexts that were put in place.
        self._inlined = 0
        #: IRIs that come of the context in force, of those that were loaded, and of a document.
        self._in_force = len(base or "")
        self._remote_iris = 0
        self._iris = IriLengths(self._in_force)
        #: Terms in force at a value, and around a document; and those with contexts of their own.
        self._terms = self._outer_terms = 0
        self._scoped: set[str] = set()
        #: How many terms the parser copies for the last document: for each context and each use of
        #: a scoped one, those in force.
        self.copies = 0
        #: Likewise, for the context in force.
        self.copies_in_force = 0

    @property
    def longest(self) -> int:
        """The maximum length of the IRIs that the contexts of the last document abbreviate to a few
        characters."""
        return self._iris.longest

    @property
    def longest_in_force(self) -> int:
        """Likewise, of a document without a context of its own."""
        return self._in_force

    def inlined(self, value: Any) -> Any:
        """A document whose remote contexts are in it.

        :raises TextError: a context is not available, contains itself, or is inserted too often.
        """
        self._begin()
        return self._document(value, self._base or "", (), 0)

    def context(self, value: Any) -> Any:
        """A context, with all that it refers to."""
        self._in_force = len(self._base or "")
        self._outer_terms = self.copies_in_force = 0
        self._begin()
        made = self._context(value, self._base or "", (), 0)
        self._in_force = self.longest
        self._outer_terms = _terms_of(made)
        self.copies_in_force = self.copies
        return made

    def _begin(self) -> None:
        self._inlined = 0
        self._terms, self.copies = self._outer_terms, self.copies_in_force
        self._iris = IriLengths(self._in_force + self._remote_iris)

    def _document(self, value: Any, base: str, within: tuple[str, ...], depth: int) -> Any:
        if depth > _DEPTH:
            raise TextError(f"values are nested more than {_DEPTH} deep")
        if isinstance(value, list):
            return [self._document(each, base, within, depth + 1) for each in value]
        if not isinstance(value, dict):
            return value
        if value.get("@type") == "@json":
            return value
        outer = self._terms
        made = dict(value)
        if _KEY in value:
            made[_KEY] = self._context(value[_KEY], base, within, depth + 1)
            self._terms += _terms_of(made[_KEY])
            self.copies += self._terms
        if self._scoped:
            types = value.get("@type")
            used = [*value, *(types if isinstance(types, list) else [types])]
            self.copies += self._terms * sum(
                1 for name in used if isinstance(name, str) and name in self._scoped
            )
        for key, each in value.items():
            if key != _KEY:
                made[key] = self._document(each, base, within, depth + 1)
        self._terms = outer
        return made

    def _context(self, value: Any, base: str, within: tuple[str, ...], depth: int) -> Any:
        if isinstance(value, str):
            return self._remote(urljoin(base, value), within, depth)
        if isinstance(value, list):
            parts: list[Any] = []
            for each in value:
                part = self._context(each, base, within, depth)
                parts += part if isinstance(part, list) else [part]
            return parts
        if not isinstance(value, dict):
            return value
        self._iris.add(value)
        self._terms += len(value)
        # Definitions of terms have contexts of their own.
        made = {key: self._document(each, base, within, depth + 1) for key, each in value.items()}
        self._scoped.update(
            key for key, each in value.items() if isinstance(each, dict) and _KEY in each
        )
        self._terms -= len(value)
        imported = made.pop(_IMPORT, None)
        if imported is None:
            return made
        if not isinstance(imported, str):
            raise TextError("@import must be the IRI of a context")
        context = self._remote(urljoin(base, imported), within, depth)
        if not isinstance(context, dict):
            raise TextError(f"the context {imported} is imported, and is not one object")
        return context | made

    def _remote(self, iri: str, within: tuple[str, ...], depth: int) -> Any:
        if iri in self._loaded:
            made, size, copies = self._loaded[iri]
            self.copies += copies
            self._count(size)
            return made
        if iri in within or len(within) > _DEPTH:
            raise TextError(f"the context {iri} contains itself")
        found = self._load(iri)
        if isinstance(found, dict) and _KEY in found:
            found = found[_KEY]
        before, iris, copies = self._inlined, self._iris, self.copies
        self._iris = IriLengths()
        made = self._context(found, iri, (*within, iri), depth + 1)
        self._remote_iris = max(self._remote_iris, self.longest)
        self._inlined, self._iris = before, iris
        size = len(dump(made))
        self._loaded[iri] = made, size, self.copies - copies
        self._count(size)
        return made

    def _count(self, size: int) -> None:
        self._inlined += size
        if self._inlined > _INLINED:
            raise TextError(f"the contexts of a document come to more than {_INLINED} bytes")

    def _load(self, iri: str) -> Any:
        contexts = self._contexts
        if contexts is None:
            raise TextError(
                f"the context {iri} is not available and never fetched: pass it with contexts="
            )
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


def _terms_of(context: Any) -> int:
    """The number of terms that a context defines."""
    if isinstance(context, list):
        return sum(map(_terms_of, context))
    return len(context) if isinstance(context, dict) else 0

"""Settings of serializers: rdflib hands on whatever it is given, misspelt or not."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...formats.names import did_you_mean


def refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse settings that a serializer does not have, rather than to leave them unheeded.

    :param given: names of what it was given.
    :param known: names of its own.
    :raises TypeError: one of them is not its own.
    """
    for name in given:
        if name not in known:
            raise TypeError(
                f"serialize() of this format has no setting {name!r}{did_you_mean(name, known)}"
            )

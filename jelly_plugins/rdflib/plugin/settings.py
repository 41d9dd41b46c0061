"""Settings of serializers: rdflib hands on whatever it is given, misspelt or not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ...formats.names import did_you_mean


def refuse_unknown(given: Iterable[str], serialize: Callable[..., Any]) -> None:
    """Refuse settings that a serializer does not have, rather than to leave them unheeded.

    :param given: names of those that are none of its own.
    :raises TypeError: there is one.
    """
    for name in given:
        known = [
            parameter.name
            for parameter in inspect.signature(serialize).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        ]
        raise TypeError(
            f"serialize() of this format has no setting {name!r}{did_you_mean(name, known)}"
        )

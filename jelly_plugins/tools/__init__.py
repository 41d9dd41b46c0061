"""Functions for the commands inspect and validate, and the settings of the latter."""

from __future__ import annotations

from dataclasses import dataclass

from ..codec import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSettings:
    """Settings of a validation.

    :ivar ordered: also compare the order and number of statements; otherwise RDF graphs or datasets
        are compared.
    :ivar base: base IRI for relative IRIs in text.
    :ivar terms: also check IRIs (relative, illegal) and language tags (malformed), which may be
        anything in Jelly; the result lists the problems.
    :ivar concatenated: treat options at the start of a frame as a new stream, as after ``cat``.
    :ivar strict: reject known deviations from the specification: an empty source, which is
        otherwise an empty stream.
    :ivar limits: the limits on untrusted input.
    """

    ordered: bool = False
    base: str | None = None
    terms: bool = False
    concatenated: bool = False
    strict: bool = False
    limits: Limits = DEFAULT_LIMITS

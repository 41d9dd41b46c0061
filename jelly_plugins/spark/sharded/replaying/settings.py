"""How a log is replayed: what a backend's ``replay`` is given, whatever the store; checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from ....codec import DEFAULT_LIMITS, BlankNode, Iri, Limits, Literal, Term
from ....codec.text.ntriples import term_text
from ....errors import OptionsError
from ....io.progress import Progress
from .position import Replayed, check_name

#: Seconds between two looks at a file that is followed.
INTERVAL: Final = 0.05

#: Called with what was done so far, after each transaction.
OnTransaction: TypeAlias = Callable[[Replayed], object]


def as_term(text: str | Term, name: str = "until") -> str:
    """An id as it is given by a user, in the syntax of N-Triples.

    :param name: of the parameter that has it, for errors.

    >>> as_term("urn:uuid:1"), as_term('"seven"')
    ('<urn:uuid:1>', '"seven"')
    """
    if isinstance(text, Iri | BlankNode | Literal):
        return term_text(text)
    if not isinstance(text, str):
        raise TypeError(f"{name} must be the id of a patch as a string (got {text!r})")
    return text if text.startswith(("<", '"', "_:")) else f"<{text}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The settings of a replay; see :func:`jelly_plugins.oxigraph.replay`, where ``log_name`` is
    ``name``.

    :ivar last: ``until`` in the syntax of N-Triples; None without it.
    :raises OptionsError: ``log_name`` cannot be a name, or ``commit_every`` is less than 1.
    :raises TypeError: ``until`` is not a string.
    """

    check_prev: bool = True
    log_name: str | None = None
    until: str | None = None
    follow: bool = False
    interval: float = INTERVAL
    stop: Callable[[], bool] | None = None
    commit_every: int | None = None
    dry_run: bool = False
    on_transaction: OnTransaction | None = None
    progress: Progress | None = None
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        check_name(self.log_name)
        if self.commit_every is not None and self.commit_every < 1:
            raise OptionsError(f"commit_every must be at least 1 (got {self.commit_every})")
        _ = self.last

    @property
    def last(self) -> str | None:
        return None if self.until is None else as_term(self.until)

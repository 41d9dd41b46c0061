"""Which patches of a log are new, by their ids."""

from __future__ import annotations

import pytest

from jelly_plugins.errors import ChainError, LimitError
from jelly_plugins.spark.shards import changes
from jelly_plugins.spark.shards.changes import PatchRows, resolve
from jelly_plugins.spark.shards.root import Log


def log(*patches: str | tuple[str | None, str | None]) -> list[PatchRows]:
    """Patches of three rows; a text has the id, and follows the one before."""
    made: list[PatchRows] = []
    for place, each in enumerate(patches):
        id_, prev = each if isinstance(each, tuple) else (each, made[-1].id if made else None)
        made.append(PatchRows(place, id_, prev, 3))
    return made


KNOWN = (Log("1", "3", 3), Log("x", "x", 3))


@pytest.mark.parametrize(
    ("given", "start", "last"),
    [
        # The log from its beginning, and with more patches.
        (log("1", "2", "3"), 3, None),
        (log("1", "2", "3", "4", "5"), 3, Log("1", "5", 3)),
        # The rest of it, with the last applied patch and without.
        (log("3", "4"), 1, Log("1", "4", 3)),
        (log(("4", "3"), "5"), 0, Log("1", "5", 3)),
        (log(("2", "1"), "3", "4"), 2, Log("1", "4", 3)),
        # The last applied patch twice, and a new one.
        (log("1", "2", "3", ("3", "2"), "4"), 4, Log("1", "4", 3)),
        (log("3", "4", ("4", "3"), "5"), 1, Log("1", "5", 3)),
        # Another log.
        (log("a", "b"), 0, Log("a", "b", 3)),
        (log("x"), 1, None),
        # Patches without ids are not recognised; those before the position are.
        (log((None, None), (None, None)), 0, None),
        (log("1", (None, None), ("2", None), ("3", "2"), (None, None)), 4, None),
        # The last patch has grown.
        ([*log("1", "2"), PatchRows(2, "3", "2", 8)], 2, Log("1", "3", 8)),
        ([], 0, None),
    ],
)
def test_what_is_new(given: list[PatchRows], start: int, last: Log | None) -> None:
    logs, found = resolve(given, KNOWN)
    assert found == start
    if last is None:
        assert logs == KNOWN
    else:
        assert logs[-1] == last
        assert {*logs} - {last} == {each for each in KNOWN if each.first != last.first}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (log("1", "2"), "the store is at patch 3, which the log does not have"),
        (log(("9", "8"), "10"), "the log follows patch 8, but the store is at patch 3 or x"),
        (log(("4", "3"), ("6", "5")), "it follows patch 5, but the patch before it is 4"),
        (log("a", "b", ("a", None)), "an earlier patch of the log has the same id"),
        (log("a", ("b", None), ("c", None), ("b", None)), "an earlier patch of the log has the"),
    ],
)
def test_logs_that_do_not_follow(given: list[PatchRows], message: str) -> None:
    with pytest.raises(ChainError, match=message):
        resolve(given, KNOWN)


def test_nothing_was_applied() -> None:
    with pytest.raises(ChainError, match="it follows patch 8, but nothing was applied before"):
        resolve(log(("9", "8")), ())
    assert resolve(log(("9", "8")), (), check_prev=False)[0] == (Log("9", "9", 3),)


def test_there_is_a_limit_of_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_LOGS", 2)
    with pytest.raises(LimitError, match="positions of 2 logs at most"):
        resolve(log("a"), KNOWN)
    assert resolve(log("a"), KNOWN, forget=True)[0] == (KNOWN[1], Log("a", "a", 3))

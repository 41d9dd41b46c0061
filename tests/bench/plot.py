"""A bar chart of figures: ``python -m tests.bench --from FILE --plot FILE.svg``.

One group of bars for each job that was timed, and in each group one bar for each who did it. Jobs
differ a hundredfold in speed, so that a bar says how fast somebody is beside us, who always come
first; the figures stand at the bars' ends. Colours are told apart by the colour-blind too, and all
of it can be read on white and on dark, because the background is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from .measure import Measured
from .results import Environment

#: Seen on white as well as on black.
_INK: Final = "#7d8590"
_OURS: Final = "#0a84d6"
#: By the first word of who it is, from the palette of Okabe and Ito.
_COLOURS: Final = {
    "pyjelly": "#e69f00",
    "pyoxigraph": "#00a37a",
    "rdflib": "#cc79a7",
    "oxrdflib": "#d55e00",
}
_OTHERS: Final = "#8c959f"

_BAR: Final = 0.78
_GAP: Final = 1.05
_INCHES: Final = 0.215
_WIDTH: Final = 9.0


def plot(
    measured: Sequence[Measured],
    environment: Environment,
    path: Path,
    data: str | None = None,
) -> None:
    """Draw the jobs that were timed on one set of data.

    :param data: its name; by default the largest one.
    :raises ValueError: there is nothing to draw.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    timed = [each for each in measured if each.unit == "seconds" and each.data]
    if data is None and timed:
        data = max(timed, key=lambda each: each.count).data
    drawn = [each for each in timed if each.data == data]
    if not drawn:
        raise ValueError(f"nothing was timed on {data}")
    pyplot.rcParams.update(
        {
            # Text as text: a fifth of the size, and it can be searched.
            "svg.fonttype": "none",
            "svg.hashsalt": "jelly-plugins",
            "font.family": "sans-serif",
            "text.color": _INK,
        }
    )
    slots = sum(len(_drawn(each)) + _GAP + 0.55 for each in drawn)
    height = slots * _INCHES + 0.75
    figure = pyplot.figure(figsize=(_WIDTH, height))
    axes = figure.add_axes((0.012, 0.0, 0.976, 1 - 0.75 / height))
    axes.set_axis_off()
    at = 0.0
    for each in drawn:
        at = _group(axes, each, at)
    axes.set_ylim(at, -0.4)
    axes.set_xlim(0, _reach(drawn))
    _heading(figure, height, drawn, environment)
    # Without a date the same figures make the same file.
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, transparent=True, dpi=160, metadata=metadata)
    pyplot.close(figure)


def _drawn(measured: Measured) -> list[str]:
    """Who gets a bar: those that somebody would choose from."""
    return [who for who in measured.values if "Python codec" not in who]


def _speed(measured: Measured, who: str) -> float:
    """How fast somebody is, with us at 1."""
    return 1 / measured.ratio(who)


def _reach(drawn: Sequence[Measured]) -> float:
    """The width of the picture in lengths of our bar, with room for the words at the ends."""
    longest = max(_speed(each, who) for each in drawn for who in _drawn(each))
    return max(longest, 1.0) * 1.75


def _group(axes: Any, measured: Measured, at: float) -> float:
    """Draw a job from ``at`` downwards; return where the next one starts."""
    axes.text(0, at + 0.1, measured.job, fontsize=10.5, fontweight="bold", va="center")
    at += 1.0
    for who in _drawn(measured):
        ours = who == measured.ours
        speed = _speed(measured, who)
        colour = _OURS if ours else _COLOURS.get(who.split(",")[0], _OTHERS)
        axes.barh(at, speed, height=_BAR, color=colour, linewidth=0)
        words = f"{who}: {measured.figure(who)}"
        axes.text(
            speed + 0.012,
            at,
            words if ours else f"{words}  ({_ratio(measured, who)})",
            fontsize=9,
            fontweight="bold" if ours else "normal",
            color=_OURS if ours else _INK,
            va="center",
        )
        at += 1.0
    return at + _GAP - 0.45


def _ratio(measured: Measured, who: str) -> str:
    """What our speed is beside somebody's."""
    times = measured.ratio(who)
    return f"ours is {times:.{0 if times >= 10 else 1 if times >= 2 else 2}f} times as fast"


def _heading(
    figure: Any, height: float, drawn: Sequence[Measured], environment: Environment
) -> None:
    packages = environment["packages"]
    peers = ", ".join(
        f"{name} {packages[name]}"
        for name in ("pyjelly", "rdflib", "pyoxigraph")
        if name in packages
    )
    first = drawn[0]
    figure.text(
        0.012,
        1 - 0.2 / height,
        f"Speed of jelly-plugins and others: {first.data} triples"
        if first.data.startswith("mix")
        else f"Speed of jelly-plugins and others: {first.data}, {first.count:,} triples",
        fontsize=13,
        fontweight="bold",
        va="center",
    )
    figure.text(
        0.012,
        1 - 0.47 / height,
        f"Longer is faster; medians of {environment['rounds']} rounds in turn, "
        f"{environment['clock']}, {environment['kernel']} kernel; {peers}",
        fontsize=9,
        va="center",
    )

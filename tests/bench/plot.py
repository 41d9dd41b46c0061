"""Draw a bar chart of figures: ``python -m tests.bench --from FILE --plot FILE.svg``.

Each timed job is a group of bars, with one bar for each implementation, ours first. Speeds of jobs
differ by a factor of a hundred, so that the fastest bar of each group has the same length; the
figures are at the ends of the bars. Names are next to the bars, so that no information depends on
colour, and colour-blind readers can distinguish the colours. The background is transparent: text
and bars are legible on white and on dark backgrounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from .measure import Measured
from .results import Environment

_INK: Final = "#7d8590"
_OURS: Final = "#0a84d6"
#: Colours by the first word of the implementation's name, from the palette of Okabe and Ito.
_COLOURS: Final = {
    "pyjelly": "#e69f00",
    "rdflib": "#cc79a7",
    "pyoxigraph": "#00a37a",
    "oxrdflib": "#d55e00",
}
_OTHERS: Final = "#8c959f"
_TIMES: Final = "\N{MULTIPLICATION SIGN}"

# Sizes in inches.
_COLUMN: Final = 5.1
_BETWEEN: Final = 0.25
_MARGIN: Final = 0.12
_NAMES: Final = 1.62
_LONGEST_BAR: Final = 2.35
_SLOT: Final = 0.2
_TITLE: Final = 0.25
_AFTER_GROUP: Final = 0.15
_HEADING: Final = 0.72


def plot(
    measured: Sequence[Measured],
    environment: Environment,
    path: Path,
    data: str | None = None,
) -> None:
    """Draw the jobs timed on one set of data.

    :param path: ends with ``.svg`` or ``.png``.
    :param data: name of the set; by default the largest one.
    :raises ValueError: there is nothing to draw.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    timed = [each for each in measured if each.unit == "seconds" and each.data]
    if data is None and timed:
        data = max(timed, key=lambda each: each.count).data
    drawn = [each for each in timed if each.data == data]
    if not drawn:
        raise ValueError(f"nothing was timed on {data}")
    columns = _columns(drawn)
    height = max(sum(map(_height, column)) for column in columns) + _HEADING + _MARGIN
    width = 2 * _MARGIN + len(columns) * _COLUMN + (len(columns) - 1) * _BETWEEN
    style = {
        # Keep text as text: the file is smaller and searchable.
        "svg.fonttype": "none",
        "svg.hashsalt": "jelly-plugins",
        "font.family": "sans-serif",
        "text.color": _INK,
    }
    with pyplot.rc_context(style):
        figure = pyplot.figure(figsize=(width, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        # One unit of the axes is one inch; the origin is the upper left corner.
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        _heading(axes, drawn, environment)
        for number, column in enumerate(columns):
            at = _HEADING
            for each in column:
                _group(axes, each, _MARGIN + number * (_COLUMN + _BETWEEN), at)
                at += _height(each)
        # Without a date the same figures give the same file.
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, transparent=True, dpi=150, metadata=metadata)
        pyplot.close(figure)


def _bars(measured: Measured) -> list[str]:
    """Return the implementations to draw: those that a user would choose from."""
    return [who for who in measured.values if "Python codec" not in who]


def _height(measured: Measured) -> float:
    return _TITLE + len(_bars(measured)) * _SLOT + _AFTER_GROUP


def _columns(drawn: Sequence[Measured]) -> list[list[Measured]]:
    """Arrange the groups in two columns of similar height, or in one if they are few."""
    if len(drawn) < 4:
        return [list(drawn)]
    heights = [_height(each) for each in drawn]
    cut = min(range(1, len(drawn)), key=lambda cut: max(sum(heights[:cut]), sum(heights[cut:])))
    return [list(drawn[:cut]), list(drawn[cut:])]


def _group(axes: Any, measured: Measured, left: float, top: float) -> None:
    """Draw one job."""
    axes.text(left, top + _TITLE / 2, measured.job, size=10, weight="bold", va="center")
    most = max(measured.rate(who) for who in _bars(measured))
    start = left + _NAMES
    for number, who in enumerate(_bars(measured)):
        ours = who == measured.ours
        at = top + _TITLE + (number + 0.5) * _SLOT
        length = _LONGEST_BAR * measured.rate(who) / most
        colour = _OURS if ours else _COLOURS.get(who.split(",")[0], _OTHERS)
        axes.barh(at, length, height=_SLOT * 0.76, left=start, color=colour, linewidth=0)
        words: dict[str, Any] = {"size": 9, "va": "center"}
        if ours:
            words |= {"weight": "bold", "color": _OURS}
        axes.text(start - 0.08, at, who, ha="right", **words)
        rate = f"{measured.rate(who) / 1000:,.0f}"
        figures = rate if ours else f"{rate}  ({_ratio(measured.ratio(who))})"
        axes.text(start + length + 0.06, at, figures, **words)


def _ratio(times: float) -> str:
    digits = 0 if times >= 10 else 1 if times >= 2 else 2
    return f"{times:.{digits}f}{_TIMES}"


def _heading(axes: Any, drawn: Sequence[Measured], environment: Environment) -> None:
    first = drawn[0]
    versions = environment["packages"]
    peers = ", ".join(f"{name} {versions[name]}" for name in _COLOURS if name in versions)
    size = "" if f"{first.count:,}" in first.data else f", {first.count:,} triples"
    things = f"Thousand {' or '.join(dict.fromkeys(each.things for each in drawn))} a second"
    axes.text(_MARGIN, 0.22, f"{things}: {first.data}{size}", size=13, weight="bold", va="center")
    axes.text(
        _MARGIN,
        0.48,
        f"Longer is faster. In brackets: how many times our time it took. Medians of "
        f"{environment['rounds']} rounds in turn, {environment['clock']}; {peers}.",
        size=8.5,
        va="center",
    )

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
#: Inches of a bar, and of all around the groups; the share of the width for figures.
_BAR: Final = 0.26
_HEADING: Final = 1.0
_FIGURES: Final = 1.3


def plot(measured: Sequence[Measured], path: Path) -> None:
    """Draw the jobs timed on the largest set of data.

    :param path: ends with ``.svg`` or ``.png``.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    timed = [each for each in measured if each.unit == "seconds" and each.data]
    data = max(timed, key=lambda each: each.count).data
    drawn = [each for each in timed if each.data == data]
    # Two more for the title of a group.
    heights = [len(_bars(each)) + 2 for each in drawn]
    style: dict[Any, Any] = {
        # Keep text as text: the file is smaller and searchable.
        "svg.fonttype": "none",
        "svg.hashsalt": "jelly-plugins",
        "font.family": "sans-serif",
        "font.size": 11,
        "text.color": _INK,
        "ytick.color": _INK,
    }
    with pyplot.rc_context(style):
        figure, grid = pyplot.subplots(
            len(drawn),
            figsize=(8, sum(heights) * _BAR + _HEADING),
            height_ratios=heights,
            layout="constrained",
            squeeze=False,
        )
        figure.suptitle(
            f"Thousand {drawn[0].things} a second: {data}\n"
            "Longer is faster. In brackets: how many times our time it took."
        )
        for axes, each in zip(grid.flat, drawn, strict=True):
            _group(axes, each)
        # Without a date the same figures give the same file.
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, transparent=True, dpi=150, metadata=metadata)
        pyplot.close(figure)


def _bars(measured: Measured) -> list[str]:
    """Return the implementations to draw: those that a user would choose from."""
    return [who for who in measured.values if "Python codec" not in who]


def _group(axes: Any, measured: Measured) -> None:
    """Draw one job."""
    names = _bars(measured)
    rates = [measured.rate(who) for who in names]
    colours = [_COLOURS.get(who.split(",")[0], _OTHERS) for who in names[1:]]
    bars = axes.barh(names, [rate / max(rates) for rate in rates], color=[_OURS, *colours])
    labels = [
        f"{rate / 1000:,.0f}"
        if who == measured.ours
        else f"{rate / 1000:,.0f}  ({measured.ratio(who):.3g}\N{MULTIPLICATION SIGN})"
        for who, rate in zip(names, rates, strict=True)
    ]
    axes.bar_label(bars, labels, padding=4)
    axes.set_title(measured.job, loc="left", size=12, weight="bold")
    axes.invert_yaxis()
    axes.set_xlim(0, _FIGURES)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)

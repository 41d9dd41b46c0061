"""The chart of sizes, made of the table in ``figures.md``: ``python docs/site/size_chart.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
PAGE = DOCS / "figures.md"
CHART = DOCS / "size.svg"

_COLOURS = ("#8c959f", "#0a84d6", "#b9c0c7", "#6cb8ee")
_INK = "#24292f"  # on white, whatever the theme of the page
_BAR, _GAP, _LEFT, _WIDTH, _LONGEST = 18, 28, 132, 640, 400


def table(page: str) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """What is compared, and the bytes of each file, from the table under "Size"."""
    section = page[page.index("## Size") :]
    section = section[: section.index("\n## ")]
    head, _, *rows = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *rows)]
    sizes = [(name, [int(each.replace(",", "")) for each in rest]) for name, _, *rest in cells[1:]]
    return cells[0][2:], sizes


def chart(page: str) -> str:
    """The chart as SVG: a group of bars for each file, its N-Triples the longest."""
    names, files = table(page)
    lines = list(_lines(names, files))
    height = 22 + len(files) * (len(names) * _BAR + _GAP)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'font-family="sans-serif" font-size="14" fill="{_INK}">',
            "<title>Bytes of the same statements</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *lines,
            "</svg>\n",
        ]
    )


def _lines(names: list[str], files: list[tuple[str, list[int]]]) -> Iterator[str]:
    y = 20
    for file, sizes in files:
        yield f'<text x="8" y="{y}" font-weight="bold">{file}</text>'
        y += 6
        for name, size, colour in zip(names, sizes, _COLOURS, strict=True):
            width = round(_LONGEST * size / sizes[0], 1)
            middle = y + _BAR - 4
            yield f'<text x="{_LEFT - 8}" y="{middle}" text-anchor="end">{name}</text>'
            yield (
                f'<rect x="{_LEFT}" y="{y + 2}" width="{width}" height="{_BAR - 4}" '
                f'fill="{colour}"/>'
            )
            label = f"{size / 1e6:.2f} MB"
            yield f'<text x="{_LEFT + width + 6}" y="{middle}">{label}</text>'
            y += _BAR
        y += _GAP - 6


if __name__ == "__main__":
    CHART.write_text(chart(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

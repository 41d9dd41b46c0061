"""``jelly demo``: parse, load, query and dump a file that the package contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.exceptions import Exit

from . import console

if TYPE_CHECKING:
    from ..tools.demo import Step


def demo() -> None:
    """Parse, load, query and dump a small real file, timed.

    Imports are not timed. Works in a temporary folder, without network, server or configuration.
    """
    from ..codec import native
    from ..tools.demo import demonstrate

    print("Seven minutes of a weather station in Warsaw (ASSIST-IoT weather, CC BY 4.0)\n")
    result = demonstrate(_print_step)
    sizes = f"{console.size_text(result.size)} before, {console.size_text(result.copy_size)} after"
    if not result.same:
        print("\nThe copy differs from the store.")
        raise Exit(1)
    print(f"\nThe copy is equal to the store. {sizes}.")
    if not native:
        print(f"\n{console.PYTHON_KERNEL}")


def _print_step(step: Step) -> None:
    speed = f"{step.seconds * 1000:7,.0f} ms"
    if not step.table:
        speed += f" {step.rate:9,.0f}/s"
    print(f"{step.what:<36}{step.count:6,} {step.unit:<40}{speed}")
    widths = [max(map(len, column)) for column in zip(*step.table, strict=True)]
    for name, *numbers, unit in step.table:
        cells = [f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=False)]
        print(f"    {name:<{widths[0]}}  {'  '.join(cells)}  {unit}")

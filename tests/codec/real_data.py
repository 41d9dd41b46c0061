"""Frames of a real stream."""

from __future__ import annotations

import gzip
from functools import cache

from jelly_plugins.codec import FrameSplitter

from ..shared_data import shared


def weather_frames() -> list[bytes]:
    """Return the frames of a stream of weather data; skip the test without the shared data."""
    return _weather_frames(str(shared("data/assist-iot-weather_100kt.jelly.gz")))


@cache
def _weather_frames(path: str) -> list[bytes]:
    with gzip.open(path) as file:
        splitter = FrameSplitter()
        return [*splitter.feed(file.read()), *splitter.finish()]

"""Streaming queries that end, on machines that have much else to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

_ATTEMPTS: Final = 10


def finished(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Run a query to its end.

    Spark gives up if the Python process of a stream does not answer within ten seconds, and has no
    setting for that limit. The query is then started again, and continues from its checkpoint.
    """
    for attempt in range(_ATTEMPTS):
        query = start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error) or attempt == _ATTEMPTS - 1:
                raise
        else:
            break
    return query

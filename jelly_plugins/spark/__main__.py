"""Demonstrate Jelly in Spark on the bundled example file: ``python -m jelly_plugins.spark``.

Reads the file as a DataFrame, queries it with SQL, writes it as several files, and reads those as a
stream. Requires only the extra ``spark``, which includes Java.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import as_file, files
from typing import Final

from ..errors import MissingExtraError

try:
    from . import session
except MissingExtraError as error:
    sys.exit(f"error: {error}")

_QUERY: Final = """\
SELECT predicate.value AS predicate, count(*) AS statements, count(DISTINCT object) AS objects
FROM weather GROUP BY predicate ORDER BY statements DESC LIMIT 5
"""


def main() -> None:
    with (
        as_file(files("jelly_plugins") / "data" / "demo.jelly") as source,
        tempfile.TemporaryDirectory() as folder,
    ):
        spark = session(name="jelly demo", config={"spark.log.level": "ERROR"})
        weather = spark.read.format("jelly").option("terms", "split").load(str(source))
        weather.createOrReplaceTempView("weather")
        print('\nspark.read.format("jelly").load("demo.jelly"), in SQL:')
        spark.sql(_QUERY).show(truncate=False)

        weather.repartition(3).write.format("jelly").mode("append").save(f"{folder}/copy")
        stream = spark.readStream.format("jelly").option("maxFilesPerTrigger", "1")
        query = (
            stream.load(f"{folder}/copy")
            .writeStream.format("memory")
            .queryName("arrived")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        print(f"read:     {weather.count():>7,} statements")
        print(f"streamed: {spark.table('arrived').count():>7,} statements, of three files")
        spark.stop()


if __name__ == "__main__":
    main()

"""Spark's daemon of Python workers, which has imported already what each worker would import."""

import runpy

import pandas  # noqa: F401
import pyarrow  # noqa: F401
import pyspark.sql.datasource  # noqa: F401

import jelly_plugins.spark.shards  # noqa: F401

if __name__ == "__main__":
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)

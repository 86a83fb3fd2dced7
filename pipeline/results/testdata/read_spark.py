"""Reads runs with Spark as a notebook would, and prints what it saw as JSON."""

import json
import math
import sys

from pyspark.sql import SparkSession


def plain(value):
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
tables = {}
for table in ("requests", "points", "trials"):
    read = spark.read.parquet(*[f"{folder}/{table}" for folder in sys.argv[1:]])
    tables[table] = {"types": dict(read.dtypes), "rows": [{name: plain(value) for name, value in row.asDict().items()} for row in read.collect()]}
print(json.dumps(tables))

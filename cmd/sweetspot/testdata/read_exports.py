"""Reads a table of a run, and its exports that are not text, with pyarrow, and prints the rows of each as JSON."""

import glob
import json
import math
import sys

import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

folder, run, table = sys.argv[1:]


def plain(cell):
    """A cell as sweetspot's documents have it."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return None if math.isnan(cell) else "Infinity" if cell > 0 else "-Infinity"
    return cell


def rows(read):
    return [{name: plain(cell) for name, cell in row.items()} for row in read.to_pylist()]


print(json.dumps({
    "stored": rows(pyarrow.dataset.dataset(glob.glob(f"{folder}/results/{run}/{table}/*.parquet")).to_table()),
    "parquet": rows(pyarrow.parquet.read_table(f"{folder}/{table}.parquet")),
    "arrow": rows(pyarrow.feather.read_table(f"{folder}/{table}.arrow")),
}))

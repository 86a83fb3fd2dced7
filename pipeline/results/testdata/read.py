"""Reads runs with pyarrow, pandas, polars and DuckDB as a notebook would, and prints what each of them saw as JSON."""

import json
import math
import sys

import duckdb
import numpy
import pandas
import polars
import pyarrow.dataset
import pyarrow.parquet

folders = sys.argv[1:]  # of runs


def glob(folder, table):
    return f"{folder}/{table}/*.parquet"


def plain(value):
    """A cell as JSON has it, the same from every reader: null, "inf", "nan", and lists."""
    if isinstance(value, dict) or value is None or value is pandas.NA:
        return value if isinstance(value, dict) else None
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, numpy.bool_)):
        return bool(value)
    if isinstance(value, (int, numpy.integer)):
        return int(value)
    if isinstance(value, (float, numpy.floating)):
        return float(value) if math.isfinite(value) else str(float(value))
    return str(value)


def rows(columns, values):
    """Rows as name to cell, in the order of run, point, repeat and request."""
    made = [{name: plain(cell) for name, cell in zip(columns, row)} for row in values]
    return sorted(made, key=lambda r: [str(r.get(k)).zfill(20) for k in ("run_id", "point_id", "repeat", "attempt", "request_index")])


def by_pyarrow(table):
    read = pyarrow.dataset.dataset([f for folder in folders for f in files(folder, table)]).to_table()
    return {"types": {f.name: str(f.type) for f in read.schema}, "rows": rows(read.column_names, zip(*[c.to_pylist() for c in read.columns]))}


def files(folder, table):
    import glob as paths

    return sorted(paths.glob(glob(folder, table)))


def by_pandas(table):
    frames = [pandas.read_parquet(f, dtype_backend="pyarrow") for folder in folders for f in files(folder, table)]
    read = pandas.concat(frames)
    return {"types": {n: str(t) for n, t in read.dtypes.items()}, "rows": rows(list(read.columns), read.itertuples(index=False, name=None))}


def by_polars(table):
    read = polars.read_parquet([glob(folder, table) for folder in folders])
    return {"types": {n: str(t) for n, t in read.schema.items()}, "rows": rows(read.columns, read.rows())}


def by_duckdb(table):
    read = duckdb.sql("select * from read_parquet(%s)" % [glob(folder, table) for folder in folders])
    return {"types": {n: str(t) for n, t in zip(read.columns, read.types)}, "rows": rows(read.columns, read.fetchall())}


def metadata(table):
    schema = pyarrow.parquet.read_schema(files(folders[0], table)[0])
    file = pyarrow.parquet.ParquetFile(files(folders[0], table)[0]).metadata
    text = lambda m: {k.decode(): v.decode() for k, v in (m or {}).items()}
    group = file.row_group(0)
    return {
        "file": {k: v for k, v in text(schema.metadata).items() if not k.startswith("ARROW")},
        "columns": {f.name: {k: v for k, v in text(f.metadata).items() if not k.startswith("PARQUET")} for f in schema},
        "nullable": {f.name: f.nullable for f in schema},
        "compression": sorted({group.column(i).compression for i in range(group.num_columns)}),
    }


def percentiles():
    """Of time to first token and of all gaps between chunks, from the requests: numpy's default method, as the points table has them."""
    found = {}
    requests = polars.read_parquet([glob(folder, "requests") for folder in folders])
    good = requests.filter((polars.col("status") == "ok") & (polars.col("phase") == "measured"))
    for keys, group in good.group_by("run_id", "point_id", "repeat", "attempt"):
        ttft = group["ttft_s"].drop_nulls().to_numpy()
        gaps = numpy.concatenate([numpy.diff(c) for c in group["chunk_offsets_ns"].to_list()]) / 1e9
        found["-".join(map(str, keys))] = {
            "ttft_mean_s": float(ttft.mean()),
            "ttft_std_s": float(ttft.std(ddof=1)),
            **{f"ttft_p{p}_s": float(numpy.percentile(ttft, p)) for p in (50, 90, 95, 99)},
            **{f"icl_p{p}_s": float(numpy.percentile(gaps, p)) for p in (50, 90, 95, 99)},
        }
    return found


tables = ("requests", "points", "trials")
print(json.dumps({
    "tables": {t: {"pyarrow": by_pyarrow(t), "pandas": by_pandas(t), "polars": by_polars(t), "duckdb": by_duckdb(t)} for t in tables},
    "metadata": {t: metadata(t) for t in tables},
    "percentiles": percentiles(),
}))

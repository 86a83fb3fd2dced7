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


KEYS = ("run_id", "point_id", "repeat", "attempt")
FIGURES = ("ttft", "ttfot", "total_time", "tpot", "queue_delay", "icl_mean")
RANKS = (50, 90, 95, 99)


def figures(of):
    """Columns of the points table, each from the requests' column by the statistic of that name."""
    found = {}
    for figure in FIGURES:
        column = f"{figure}_s"
        found.update({f"{figure}_{name}_s": of(column, name) for name in ("mean", "std", "min", "max")})
        found.update({f"{figure}_p{rank}_s": of(column, rank) for rank in RANKS})
    return found


def percentiles_by_pandas():
    read = pandas.concat([pandas.read_parquet(f, dtype_backend="pyarrow") for folder in folders for f in files(folder, "requests")])
    good = read[(read["status"] == "ok") & (read["phase"] == "measured")]
    found = {}
    for keys, group in good.groupby(list(KEYS)):
        column = lambda name: group[name].dropna().astype("float64")
        of = lambda name, how: column(name).quantile(how / 100) if isinstance(how, int) else getattr(column(name), how)()
        found["-".join(map(str, keys))] = figures(of)
    return found


def percentiles_by_polars():
    good = polars.read_parquet([glob(folder, "requests") for folder in folders]).filter((polars.col("status") == "ok") & (polars.col("phase") == "measured"))
    found = {}
    for keys, group in good.group_by(*KEYS):
        of = lambda name, how: group[name].quantile(how / 100, "linear") if isinstance(how, int) else getattr(group[name], how)()
        found["-".join(map(str, keys))] = figures(of)
        gaps = numpy.concatenate([numpy.diff(c) for c in group["chunk_offsets_ns"].to_list()]) / 1e9
        found["-".join(map(str, keys))].update({f"icl_p{rank}_s": float(numpy.percentile(gaps, rank)) for rank in RANKS})
    return found


def percentiles_by_duckdb():
    names = {"mean": "avg(%s)", "std": "stddev_samp(%s)", "min": "min(%s)", "max": "max(%s)"}
    wanted = figures(lambda name, how: f"quantile_cont({name}, {how / 100})" if isinstance(how, int) else names[how] % name)
    select = ", ".join(f"{expression} as {name}" for name, expression in wanted.items())
    read = duckdb.sql("select %s, %s from read_parquet(%s) where status = 'ok' and phase = 'measured' group by all" % (", ".join(KEYS), select, [glob(folder, "requests") for folder in folders]))
    return {"-".join(map(str, row[:4])): dict(zip(read.columns[4:], row[4:])) for row in read.fetchall()}


tables = ("requests", "points", "trials")
print(json.dumps({
    "tables": {t: {"pyarrow": by_pyarrow(t), "pandas": by_pandas(t), "polars": by_polars(t), "duckdb": by_duckdb(t)} for t in tables},
    "metadata": {t: metadata(t) for t in tables},
    "percentiles": {
        reader: {keys: {name: value for name, value in of.items() if value is not None and value == value} for keys, of in by().items()}
        for reader, by in (("pandas", percentiles_by_pandas), ("polars", percentiles_by_polars), ("duckdb", percentiles_by_duckdb))
    },
}))

"""The cells of the notebook, in the form that editors know as percent cells."""

# %% [markdown]
# # What was measured
#
# Reads the runs' own files. It needs `polars` and `matplotlib`. What each column means stands in sweetspot's reference of results.

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl

RUNS = []


def table(name):
    """A table of all runs: the rows of the last attempts."""
    files = [file for run in RUNS for file in sorted((Path(run) / name).glob("*.parquet"))]
    if not files:
        raise SystemExit(f"no file of the table {name} under {RUNS}")
    rows = pl.concat([pl.read_parquet(file) for file in files], how="diagonal")
    keys = ["run_id", "trial_id"] if name == "trials" else ["run_id", "point_id", "repeat"]
    return rows.filter(pl.col("attempt") == pl.col("attempt").max().over(keys))


manifests = {m["run_id"]: m for m in (json.loads((Path(run) / "manifest.json").read_text()) for run in RUNS)}
trials, points, requests = table("trials"), table("points"), table("requests")
several = len(RUNS) > 1


def label(run_id, trial_name):
    return f"{manifests[run_id]['name']} {run_id}, {trial_name}" if several else trial_name


def load(row):
    """The load of a row in words, and the level that it is drawn at."""
    caps = [(name, row[name]) for name in ("concurrency", "request_concurrency", "prefill_concurrency", "request_rate", "replay_speed") if row[name] is not None]
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in caps), caps[0][1] if caps else float("nan")


curves = {key: group.to_dicts() for key, group in trials.group_by("run_id", "trial_name", maintain_order=True)}

# %% [markdown]
# ## The points
#
# `selected` is the point that was chosen for its trial; `reasons` says why another can't be or does not meet a limit.

# %%
shown = ["run_id", "trial_name", "concurrency", "request_concurrency", "request_rate", "replay_speed", "requests_ok", "output_tok_per_s", "output_tok_per_s_user",
         "ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "eligible", "feasible", "selected", "reasons"]
trials.select(shown)

# %% [markdown]
# ## Throughput and time to first token against the load
#
# Medians over the repeats. A star is a selected point, a hollow one can't be chosen or does not meet a limit.

# %%
figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for (run_id, trial_name), rows in curves.items():
    for axis, column, scale in ((axes[0], "output_tok_per_s", 1), (axes[1], "ttft_p50_s", 1000)):
        drawn = [(load(row)[1], row[column] * scale, row) for row in rows if row[column] is not None]
        if not drawn:
            continue
        line, = axis.plot([x for x, _, _ in drawn], [y for _, y, _ in drawn], label=label(run_id, trial_name))
        for x, y, row in drawn:
            axis.plot(x, y, "*" if row["selected"] else "o", markersize=14 if row["selected"] else 7, color=line.get_color(),
                      markerfacecolor=line.get_color() if row["feasible"] else "none")
axes[0].set(xlabel="load", ylabel="output tok/s", ylim=(0, None))
axes[1].set(xlabel="load", ylabel="TTFT p50, ms", ylim=(0, None))
axes[0].legend()
plt.show()

# %% [markdown]
# ## How the time to first token is distributed
#
# Ok requests of the measured phase at each trial's selected point, all repeats.

# %%
measured = requests.filter((pl.col("phase") == "measured") & (pl.col("status") == "ok") & pl.col("ttft_s").is_not_null())
figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
for (run_id, trial_name), rows in curves.items():
    for row in rows:
        if row["selected"]:
            ttft = measured.filter((pl.col("run_id") == run_id) & (pl.col("point_id") == row["point_id"]))["ttft_s"].sort() * 1000
            if len(ttft) > 0:
                axis.ecdf(ttft.to_numpy(), label=f"{label(run_id, trial_name)}: {load(row)[0]}")
axis.set(xlabel="TTFT, ms", ylabel="share of requests")
if axis.lines:
    axis.legend()
plt.show()

# %% [markdown]
# ## What a point's requests did when
#
# The first repeat of the first selected point: waiting for the first token, then decoding, each request on its lane.

# %%
chosen = next((row for rows in curves.values() for row in rows if row["selected"]), None)
figure, axis = plt.subplots(figsize=(12, 4.5), layout="constrained")
if chosen is not None:
    one = requests.filter((pl.col("run_id") == chosen["run_id"]) & (pl.col("point_id") == chosen["point_id"]) & (pl.col("repeat") == 0) & pl.col("dispatched_ns").is_not_null())
    begin = one["dispatched_ns"].min()
    seconds = one.select(
        "lane", start=(pl.col("dispatched_ns") - begin) / 1e9, first=(pl.coalesce("first_token_ns", "ended_ns") - begin) / 1e9, end=(pl.col("ended_ns") - begin) / 1e9)
    axis.barh(seconds["lane"], seconds["first"] - seconds["start"], left=seconds["start"], height=0.4, color="tab:orange", label="to the first token")
    axis.barh(seconds["lane"], seconds["end"] - seconds["first"], left=seconds["first"], height=0.8, color="tab:blue", label="decode")
    axis.set(xlabel="seconds", ylabel="lane", title=f"{label(chosen['run_id'], chosen['trial_name'])}: {load(chosen)[0]}")
    axis.legend()
plt.show()

# %% [markdown]
# ## How trials compare
#
# The selected point of each. Bars are medians over the repeats, whiskers their least and greatest.

# %%
winners = [(label(run_id, trial_name), row) for (run_id, trial_name), rows in curves.items() for row in rows if row["selected"]]
figure, axes = plt.subplots(1, 2, figsize=(12, 1.5 + 0.5 * len(winners)), layout="constrained")
for axis, column, scale, name in ((axes[0], "output_tok_per_s", 1, "output tok/s"), (axes[1], "ttft_p50_s", 1000, "TTFT p50, ms")):
    for i, (text, row) in enumerate(winners):
        repeats = points.filter((pl.col("run_id") == row["run_id"]) & (pl.col("point_id") == row["point_id"]))[column].drop_nulls() * scale
        if row[column] is None or len(repeats) == 0:
            continue
        middle = row[column] * scale
        axis.barh(i, middle, xerr=[[max(0, middle - repeats.min())], [max(0, repeats.max() - middle)]], color=f"C{i}")
    axis.set_yticks(range(len(winners)), [f"{text}\n{load(row)[0]}" for text, row in winners])
    axis.invert_yaxis()
    axis.set(xlabel=name)
plt.show()

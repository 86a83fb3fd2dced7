"""Runs a notebook without a screen, and prints what its figures are, what is drawn in them, and the rows that it had, as JSON."""

import base64
import io
import json
import math
import sys

import matplotlib.image
import nbclient
import nbformat

DRAWN = """
print(json.dumps([{
    "lines": [line.get_xydata().tolist() for line in axis.lines], "bars": [float(bar.get_width()) for bar in axis.patches],
} for axis in figure.axes]))
"""
ROWS = "print(json.dumps(trials.to_dicts()))"

notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
cells, asked = [], []
for cell in notebook.cells:
    cells.append(cell)
    if cell.cell_type == "code" and "plt.show()" in cell.source:
        asked.append(nbformat.v4.new_code_cell(DRAWN))
        cells.append(asked[-1])
rows = nbformat.v4.new_code_cell(ROWS)
notebook.cells = cells + [rows]
nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": sys.argv[2]}}).execute()

figures = []
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        if "image/png" in output.get("data", {}):
            pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(output["data"]["image/png"])))
            figures.append(len({tuple(p) for p in pixels[::3, ::3, :3].reshape(-1, 3).round(2).tolist()}))


def printed(cell):
    return json.loads("".join(output["text"] for output in cell.outputs if output.get("name") == "stdout"))


def plain(value):
    """A cell as sweetspot's documents have it: JSON has no number for an infinite figure."""
    return "Infinity" if isinstance(value, float) and math.isinf(value) else value


print(json.dumps({
    "colours": figures, "drawn": [printed(cell) for cell in asked],
    "rows": [{name: plain(value) for name, value in row.items()} for row in printed(rows)],
}))

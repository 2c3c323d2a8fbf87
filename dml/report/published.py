"""The numbers that the papers publish: `published.csv`, one row per number, looked up by a study's `published` entries.

The column `paper` names the source (see `PAPERS`), `table` is the table's number in that paper. `S1` is a supplement's
table, `S-fig1` its figure and `sec4.3` a section. Values are percentages, unless `metric` has another unit.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from dml.config import PublishedSection
from dml.discovery import suggestion

COLUMNS = ("paper", "table", "dataset", "labels", "method", "metric", "value")
PAPERS = {
    "eps": (
        "Levi, Xiao, Wang, Darrell: Rethinking preventing class-collapsing in metric learning with margin-based "
        "losses, ICCV 2021"
    ),
    "loop": (
        "Vasudeva, Deora, Bhattacharya, Pal, Chanda: LoOp: looking for optimal hard negative embeddings for deep "
        "metric learning, ICCV 2021"
    ),
}


@cache
def table() -> pd.DataFrame:
    """Every published number: columns paper, table, dataset, labels, method, metric (str) and value (percent)."""
    kinds = {**dict.fromkeys(COLUMNS, str), "value": float}
    return pd.read_csv(Path(__file__).with_name("published.csv"), dtype=kinds, keep_default_na=False)


def lookup(spec: PublishedSection) -> dict[str, float]:
    """What a paper publishes for one method: metric as the paper writes it -> percent, in the paper's order.

    Raises
    ------
    ValueError : no such row; names the first attribute without a match and its choices.
    """
    rows = table()
    for column in ("paper", "table", "dataset", "labels", "method"):
        given = getattr(spec, column)
        found = rows[rows[column] == given]
        if found.empty:
            choices = sorted(rows[column].unique())
            raise ValueError(f"published: no row has {column} {given!r}{suggestion(given, choices)}")
        rows = found
    return dict(zip(rows["metric"], rows["value"], strict=True))

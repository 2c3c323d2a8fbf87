"""The numbers that the papers publish, one per row of `published.csv`, looked up by what a study's `published` names.

Sources (column `paper`): `eps` is Levi, Xiao, Wang, Darrell, "Rethinking preventing class-collapsing in metric learning
with margin-based losses", ICCV 2021; `loop` is Vasudeva, Deora, Bhattacharya, Pal, Chanda, "LoOp: looking for optimal
hard negative embeddings for deep metric learning", ICCV 2021. `table` is the table's number in the paper. Values are
percentages.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from dml.config import PublishedSpec
from dml.discovery import suggestion

COLUMNS = ("paper", "table", "dataset", "labels", "method", "metric", "value")
PAPERS = {
    "eps": "Levi et al. 2021, Rethinking preventing class-collapsing in metric learning with margin-based losses",
    "loop": "Vasudeva et al. 2021, LoOp: looking for optimal hard negative embeddings",
}
_SPELT = {"nmi": "NMI", "nmi+": "NMI+", "f1": "F1", "map@r": "MAP@R", "map": "mAP"}


def metric_label(metric: str) -> str:
    """A metric as the papers write it: `recall@1` -> `R@1`, `nmi+` -> `NMI+`."""
    stem, at, k = metric.partition("@")
    if at and stem in ("recall", "precision"):
        return f"{stem[0].upper()}@{k}"
    return _SPELT.get(metric, metric)


@cache
def table() -> pd.DataFrame:
    """Every published number: columns paper, table, dataset, labels, method, metric (str) and value (percent)."""
    kinds = {**dict.fromkeys(COLUMNS, str), "value": float}
    return pd.read_csv(Path(__file__).with_name("published.csv"), dtype=kinds, keep_default_na=False)


def lookup(spec: PublishedSpec) -> dict[str, float]:
    """What a paper publishes for one method: metric as the paper writes it -> percent, in the paper's order.

    Raises
    ------
    ValueError : no such row; names the first attribute that fits none, and those there are.
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

"""The result of `evaluate`."""

from __future__ import annotations

import pandas as pd


class Scores(dict[str, float]):
    """Scores by name.

    Attributes
    ----------
    counts : for each level, the number of `queries`, and how many are `excluded` from the means because the gallery has
        no relevant row for them.
    per_query : with `keep`: columns level, index (row of the embeddings), label, and one for each retrieval metric, NaN
        if the query is excluded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, dict[str, int]] = {}
        self.per_query: pd.DataFrame | None = None


def per_class(per_query: pd.DataFrame) -> pd.DataFrame:
    """`Scores.per_query` averaged within each class: columns level, label, queries, excluded, one for each metric."""
    metrics = [name for name in per_query.columns if name not in ("level", "index", "label")]
    groups = per_query.groupby(["level", "label"], sort=True)
    table = groups[metrics].mean()
    table.insert(0, "queries", groups.size())
    table.insert(1, "excluded", groups.size() - groups[metrics].count().min(axis=1) if metrics else 0)
    return table.reset_index()

"""The result of an audit: scores, suggestions and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dml.audit.rate import Rate


@dataclass(frozen=True, eq=False)
class Audit:
    """Scores and suggestions for n images. Images of classes that are too small to judge have NaN scores."""

    labels: np.ndarray  # (n,): as given
    suggested: np.ndarray  # (n,): the likeliest class
    score: np.ndarray  # float64 (n,): log odds that the label is wrong, up to a constant; higher is more suspicious
    wrong: np.ndarray  # float64 (n,): the chance that the label is wrong, if the rate is the guess
    own: np.ndarray  # float64 (n,): the out-of-sample probability of the given label
    vote: np.ndarray  # float64 (n,): the neighbours' weighted share that has the given label
    rate: Rate  # the first guess
    representation: str  # the one used,
    losses: Mapping[str, float]  # since its labels have the lowest mean -log P out of sample, in nats
    duplicates: pd.DataFrame  # near-duplicates: first, second, similarity; given_first differs from given_second
    beyond: Mapping[Any, int]  # label -> images, of classes with 1 or 2 images: beyond judgement
    settings: Mapping[str, Any]
    digest: str  # of vectors and labels

    def table(self) -> pd.DataFrame:
        """A row for each image: index, given, suggested, score, wrong, own, vote, suspect."""
        labels = {"index": np.arange(len(self.labels)), "given": self.labels, "suggested": self.suggested}
        scores = {name: getattr(self, name) for name in ("score", "wrong", "own", "vote")}
        return pd.DataFrame({**labels, **scores, "suspect": self.suspects()})

    def suspects(self, rate: float | None = None) -> np.ndarray:
        """Which labels are suspected, bool (n,): the share `rate` of the judged, by score; None: the guess."""
        rate = self.rate.guess if rate is None else rate
        if not 0 <= rate <= 1:
            raise ValueError(f"suspects: rate: expected 0 <= rate <= 1, got {rate!r}")
        judged = np.flatnonzero(np.isfinite(self.score))
        out = np.zeros(len(self.score), dtype=bool)
        order = judged[np.argsort(-self.score[judged], kind="stable")]
        out[order[: round(rate * len(order))]] = True
        return out

    def classes(self) -> pd.DataFrame:
        """A row for each given class: given, images, suspects, share, confused_with (the commonest suggestion)."""
        rows = []
        for given, part in self.table().groupby("given", sort=True):
            other = part.loc[part["suspect"] & (part["suggested"] != part["given"]), "suggested"]
            share = float(part["suspect"].mean()) if given not in self.beyond else np.nan
            most = other.mode().iloc[0] if len(other) else None
            rows.append((given, len(part), int(part["suspect"].sum()), share, most))
        table = pd.DataFrame(rows, columns=["given", "images", "suspects", "share", "confused_with"])
        # As objects: beside a class without a suggestion, labels that are integers would become floats.
        return table.assign(confused_with=pd.Series([row[-1] for row in rows], dtype=object))

    def confusions(self) -> pd.DataFrame:
        """A row for each pair of classes among the suspects: given, suggested, count; the most frequent first."""
        table = self.table()
        part = table[table["suspect"] & (table["given"] != table["suggested"])]
        counts = part.groupby(["given", "suggested"], sort=True).size().rename("count").reset_index()
        return counts.sort_values("count", ascending=False, kind="stable").reset_index(drop=True)

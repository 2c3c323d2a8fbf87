"""Two-dimensional embeddings of each method (figure 2 of Levi et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.analysis.embedded_cells import Shown, planes, sets_of
from dml.report.figures import SETS, points
from dml.report.labels import Texts, metric_label, metric_of
from dml.report.numbers import percent
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Arrays, Results
from dml.report.sections._rows import named

say = Texts(__file__)

POINTS = 2500  # per panel, at most
PANELS = 12  # per dataset, at most
FEW = 10  # classes that are named by a numeral


class Planes:
    """Each method's embeddings as points in the plane."""

    anchor, title = "planes", "Embeddings in the plane"

    def applies(self, results: Results) -> bool:
        """Two dimensions, and at least one trial saved its embeddings."""
        return bool(planes(results, 1))

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset: a panel per method and evaluated set."""
        found = planes(results, max(1, PANELS // len(results.study.evaluation.sets)))
        for each in found:
            frame = _frame(results, each)
            few = frame["class"].nunique() <= FEW
            numerals = "; the numerals are at the medians of the classes" if few else ""
            caption = say("figure", where=each.where, numerals=numerals, points=f"{POINTS:,}", note=each.note)
            name = "planes" if len(found) == 1 else f"planes-{each.dataset}"
            yield Drawing(name, points(frame, few, _scores(results, each)), frame, say("alt"), caption)


def _frame(results: Results, of: Shown) -> pd.DataFrame:
    """One row per point that is shown."""
    frames = []
    for name, key in of.keys.items():
        for part in reversed(sets_of(results, of)):
            found = _points(results, key, part)
            x, y = found["points"].astype(np.float32).T
            rows = named(results, of, name, part) | {"set": SETS.get(part, part)}
            frames.append(pd.DataFrame(rows | {"x": x, "y": y, "class": found["labels"]}))
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(colour=frame["class"].rank(method="dense").astype(int) - 1)


def _points(results: Results, key: str, part: str) -> Arrays:
    """Every so many-th point of a set: `points` float16 (n, 2) and `labels` int (n,)."""

    def compute() -> Arrays:
        content = results.embeddings(key)
        chosen = np.flatnonzero(content["set"] == part)
        chosen = chosen[:: max(1, -(-len(chosen) // POINTS))]
        labels = content["labels_fine"][chosen].astype(np.int32)
        return {"points": content["embeddings"][chosen].astype(np.float16), "labels": labels}

    found = results.figures.of("planes", key, part, compute)
    return found or {"points": np.empty((0, 2)), "labels": np.empty(0, dtype=int)}


def _scores(results: Results, of: Shown) -> dict[tuple[str, str], str]:
    """The objectives of the trials that are shown, by method and set."""
    found = {}
    for name, key in of.keys.items():
        for part in sets_of(results, of):
            score = results.objective(of.dataset, part)
            row = results.confirmed[results.confirmed["key"] == key]
            if score in row and row[score].notna().any():
                value = percent(100 * float(row[score].iloc[0]))
                method = named(results, of, name, part)["method"]
                found[method, SETS.get(part, part)] = f"{metric_label(metric_of(score))} {value} %"
    return found

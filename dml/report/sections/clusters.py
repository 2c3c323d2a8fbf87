"""NMI against the number of clusters (section 5.2.6 of Levi et al. 2021: easy positive sampling)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from dml.report.figures.against_clusters import against_clusters
from dml.report.figures.best import best_methods, is_many, only_best
from dml.report.labels import group_label, is_topline, metric_label
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Results
from dml.report.sections._rows import means, score_frame
from dml.report.texts import Texts
from dml.types import ScoreKey

say = Texts(__file__)


class Clusters:
    """How scores of a clustering depend on the number of clusters."""

    anchor, title = "clusters", "How many clusters"

    def applies(self, results: Results) -> bool:
        """At least two numbers of clusters were measured."""
        return len(results.study.evaluation.clusters) > 1 and bool(_panels(results))

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset, noise model and metric, at the lowest noise rate."""
        for dataset, noise in [pair for pair in results.conditions if not is_topline(pair[1])]:
            lowest = min(results.rates(dataset, noise))
            names = results.cells_of(dataset, noise, lowest)
            for stem, panels in _panels(results).items():
                label = metric_label(stem)
                where = results.where(dataset, noise)
                where += f", {results.level(noise, lowest)}" if any(results.rates(dataset, noise)) else ""
                caption = say(
                    "figure",
                    metric=label,
                    where=where,
                    means=means(results, [key for keys in panels.values() for key in keys.values()]),
                )
                if is_many(results, names):
                    best = best_methods(results, names, results.objective(dataset))
                    names = [name for name in names if results.methods[name] in best]
                    caption += only_best(len(best))
                frame = _frame(results, names, panels)
                figure, alt = against_clusters(results, frame, label), f"{label} by number of clusters."
                yield Drawing(f"clusters-{dataset}-{noise}-{stem}", figure, frame, alt, caption)


def _frame(results: Results, names: Sequence[str], panels: Mapping[str, Mapping[int, str]]) -> pd.DataFrame:
    """One row per panel, cell and number of clusters, without those that have no score."""
    frames = [
        score_frame(results, names, [key]).assign(panel=group_label(key), clusters=clusters)
        for keys in panels.values()
        for clusters, key in sorted(keys.items())
    ]
    return pd.concat(frames, ignore_index=True)


def _panels(results: Results) -> dict[str, dict[str, dict[int, str]]]:
    """For each metric and `<set>/<level>`, the score key by the number of clusters."""
    found: dict[str, dict[str, dict[int, str]]] = {}
    for key in results.score_keys:
        measured, score = results.study.evaluation, ScoreKey.parse(key)
        if score.metric not in measured.metrics and score.number in measured.clusters:
            found.setdefault(score.stem, {}).setdefault(score.group, {})[score.number] = key
    return found

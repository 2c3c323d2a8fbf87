"""What the best method gains on scores that did not choose it.

Of many methods the highest mean is partly luck. Validation classes choose where they were scored (`chosen`). In other
studies each seed in turn is left out: the others choose, and it judges. With class splits, that is each split in turn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from dml import statistics
from dml.report.analysis.untrained import Baseline, untrained
from dml.report.analysis.validation_choice import best_of, validations
from dml.report.results import Results
from dml.statistics import Summary
from dml.types import ScoreKey

USUAL = ("triplet", "random", "semihard_random")  # loss, positives and negatives that most people begin with
SCORE = "recall@1"


@dataclass(frozen=True)
class HeldOut:
    """The choice at one noise rate of a study. Scores in percent, differences in points, over the seeds left out."""

    study: str
    dataset: str
    noise: str
    rate: float
    key: str  # the score that chooses and judges
    chosen: str  # the cell that was chosen most often
    times: int  # how often it was
    head: bool  # it is a head on frozen features, and no whole network
    score: Summary  # of whichever cell was chosen without the seed
    gain: Summary | None  # that, minus the usual choice; None if the study lacks it
    untrained: Baseline | None  # the best one
    spread: float  # the highest mean minus the lowest
    cells: int


def held_out(results: Results, dataset: str, noise: str, rate: float) -> HeldOut | None:
    """The choice at a noise rate; None with fewer than two cells, or two seeds that all of them finished.

    The folds share seeds, so intervals are slightly too narrow. They say nothing about other images or classes.
    """
    key = judge(results, dataset)
    names = results.rivals(dataset, noise, rate)
    table = pd.DataFrame({name: results.values(name, key) for name in names}).dropna(axis=1, how="all").dropna()
    if table.shape[1] < 2 or len(table) < 2:
        return None
    # rounded, or the order of additions would decide between equal means
    choices = {seed: table.drop(index=seed).mean().round(9).idxmax() for seed in table.index}
    own = validations(results, list(map(str, table)))
    if own is not None:
        choices = dict.fromkeys(table.index, best_of(own))
    scores = pd.Series({seed: table.loc[seed, name] for seed, name in choices.items()})
    usual = next((name for name in table if _is_usual(results, str(name))), None)
    chosen, times = Counter(map(str, choices.values())).most_common(1)[0]
    means = table.mean()
    return HeldOut(
        results.study.name,
        dataset,
        noise,
        rate,
        key,
        chosen,
        times,
        results.study.training_of(results.cells[chosen]).frozen,
        statistics.summary(scores, bounds=(0.0, 100.0)),
        None if usual is None else statistics.summary(scores - table[usual]),
        untrained(results, dataset, noise, rate, key),
        float(means.max() - means.min()),
        table.shape[1],
    )


def judge(results: Results, dataset: str) -> str:
    """R@1 where the study's objective is, else the objective."""
    objective = results.objective(dataset)
    wanted = str(ScoreKey.parse(objective)._replace(metric=SCORE))
    return wanted if wanted in results.score_keys else objective


def _is_usual(results: Results, name: str) -> bool:
    cell = results.cells[name]
    return (cell.loss.name, cell.positives, cell.negatives) == USUAL and cell.filter is None

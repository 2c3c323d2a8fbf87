"""What a choice costs that was made elsewhere: on other datasets, or on the same one with clean labels.

For studies that cross the same ways (loss, positives, negatives, grid settings). The other datasets choose the way
with the highest mean over their conditions (noise models and rates), each dataset weighing the same. Data that train a
head choose for heads, and data that train a network for networks; where no other dataset is trained alike, all others
choose. A regret is the score of the best way minus that of a choice. For each seed the other seeds choose the best way
at a condition, so that luck at one seed does not count as merit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dml import statistics
from dml.report.analysis.factorial import Crossed, Point, crossed, factorial
from dml.report.labels import metric_of
from dml.report.results import Results
from dml.statistics import Summary
from dml.types import ScoreKey

USUAL = ("triplet", "random", "semihard_random")  # loss, positives and negatives that most people begin with
SCORE = "recall@1"

Condition = tuple[str, float]  # noise model and rate


@dataclass(frozen=True)
class Ways:
    """The scores of all ways on one dataset of a study, in percent."""

    study: str
    dataset: str
    head: bool  # a head on frozen features is trained, and no whole network
    crossing: tuple[str, tuple[str, ...], tuple[Point, ...]]  # metric, axes, and the C ways in alphabetical order
    scores: Mapping[Condition, np.ndarray]  # each (C, S), S of at least 2 seeds that all ways finished

    @property
    def means(self) -> np.ndarray:
        """(C,): over conditions and seeds."""
        return np.mean([scores.mean(axis=1) for scores in self.scores.values()], axis=0)


@dataclass(frozen=True)
class CarriedOver:
    """What choices made elsewhere do on one dataset. In points, over its seeds."""

    ways: Ways
    choice: Point  # of the other datasets
    choosers: int  # how many datasets chose
    alike: bool  # whether they train what this one trains
    gain: Summary | None  # over the usual choice, mean over conditions; None if there is no such way
    regret: Summary  # mean over conditions
    from_clean: Mapping[Condition, Summary]  # regret under noise of what wins without it, at the other seeds


def carried_over(studies: Sequence[Results]) -> list[CarriedOver]:
    """One record per study and dataset of the largest group that crosses the same ways, by dataset.

    Returns
    -------
    Empty unless a group has at least two datasets.
    """
    groups: dict[object, list[Ways]] = {}
    for ways in (each for results in studies for each in _ways(results)):
        groups.setdefault(ways.crossing, []).append(ways)
    group = max(groups.values(), key=_size, default=[])
    if len({ways.dataset for ways in group}) < 2:
        return []
    return [_carried_over(ways, group) for ways in sorted(group, key=lambda ways: (ways.dataset, ways.study))]


def _size(group: Sequence[Ways]) -> tuple[int, int]:
    """The number of datasets, then of ways."""
    return len({ways.dataset for ways in group}), len(group[0].crossing[2])


def _carried_over(mine: Ways, group: Sequence[Ways]) -> CarriedOver:
    others = [ways for ways in group if ways.dataset != mine.dataset]
    alike = [ways for ways in others if ways.head == mine.head]
    choosers = alike or others
    by_dataset = [
        np.mean([ways.means for ways in choosers if ways.dataset == dataset], axis=0)
        for dataset in sorted({ways.dataset for ways in choosers})
    ]
    chosen = int(np.argmax(np.mean(by_dataset, axis=0).round(9)))  # rounded: see `elected`
    points, scores = mine.crossing[2], list(mine.scores.values())
    usual = [place for place, point in enumerate(points) if point[:3] == USUAL]
    gains = [each[chosen] - each[usual[0]] for each in scores] if len(usual) == 1 else None
    return CarriedOver(
        mine,
        points[chosen],
        len(by_dataset),
        bool(alike),
        None if gains is None else statistics.summary(np.mean(gains, axis=0)),
        statistics.summary(np.mean([regrets(each[chosen], each) for each in scores], axis=0)),
        _from_clean(mine.scores),
    )


def _from_clean(scores: Mapping[Condition, np.ndarray]) -> dict[Condition, Summary]:
    """By noisy condition; empty without clean labels."""
    clean = [each for (_, rate), each in scores.items() if rate == 0]
    if not clean:
        return {}
    winners = elected(np.mean(clean, axis=0))
    seeds = np.arange(len(winners))
    noisy = {condition: each for condition, each in scores.items() if condition[1] > 0}
    return {condition: statistics.summary(regrets(each[winners, seeds], each)) for condition, each in noisy.items()}


def _ways(results: Results) -> list[Ways]:
    """One record per dataset whose noise models cross the same ways at two shared seeds or more."""
    found = []
    for dataset in dict.fromkeys(block.dataset for block in crossed(results)):
        key = judge(results, dataset)
        noises = [block.noise for block in crossed(results) if block.dataset == dataset]
        blocks = [block for noise in noises if (block := factorial(results, dataset, noise, key)) is not None]
        crossings = {(metric_of(key), tuple(block.levels), tuple(sorted(_points(block)))) for block in blocks}
        seeds = sorted(set.intersection(*(set(block.seeds) for block in blocks))) if blocks else []
        if len(crossings) == 1 and len(seeds) > 1:
            scores = {
                (block.noise, rate): _by_way(block, rate)[:, [block.seeds.index(seed) for seed in seeds]]
                for block in blocks
                for rate in block.rates
            }
            head = results.study.training_of(results.cells[results.cells_of(dataset, noises[0])[0]]).frozen
            found.append(Ways(results.study.name, dataset, head, crossings.pop(), scores))
    return found


def _points(block: Crossed) -> list[Point]:
    return list(product(*block.levels.values()))


def _by_way(block: Crossed, rate: float) -> np.ndarray:
    """(C, S), in alphabetical order of the ways."""
    points = _points(block)
    order = sorted(range(len(points)), key=points.__getitem__)
    return block.at(rate).reshape(len(points), -1)[order]


def regrets(mine: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """(S,): at each seed, the score of the way (C, S) that is best at the other seeds, minus a choice's (S,)."""
    return ways[elected(ways), np.arange(ways.shape[1])] - mine


def elected(ways: np.ndarray) -> np.ndarray:
    """(S,): for each seed, the place of the way (C, S) that is best at the other seeds; the first of equal ones."""
    others = ways.sum(axis=1, keepdims=True) - ways
    return np.argmax(others.round(9), axis=0)  # rounded, or the order of additions would decide between equal sums


def judge(results: Results, dataset: str) -> str:
    """R@1 where the study's objective is, else the objective."""
    objective = results.objective(dataset)
    wanted = str(ScoreKey.parse(objective)._replace(metric=SCORE))
    return wanted if wanted in results.score_keys else objective

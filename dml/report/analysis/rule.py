"""A rule of thumb from one study, and how it does on others that it was not made from.

The rule: at each noise rate, take the loss, the positives and the negatives with the highest pooled effect, each by
itself. On another study it takes the nearest rate, and of each axis the highest-ranked choice that the study has; an
axis whose choices the rule does not know is averaged over. Its gain is against the mean over all cells of the
factorial, which is what a choice at random gives. Its regret is against the best cell. For each seed,
that cell is chosen by the other seeds, so that luck at one seed does not count as its merit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dml import statistics
from dml.report.analysis.factorial import CHOICES, Crossed, crossed
from dml.report.analysis.pooled import effects_at
from dml.report.results import Results
from dml.report.tuning import mark

Ranking = Mapping[str, Sequence[str]]  # by axis: its levels, the best first


@dataclass(frozen=True)
class RuleTest:
    """The rule of one study on another one, at one noise rate; in points."""

    made_from: str
    study: str
    title: str
    dataset: str
    noise: str
    rate: float
    choice: Mapping[str, str]
    gain: statistics.Summary
    regret: statistics.Summary | None  # None with one seed
    better: float  # share of cells with a lower mean, from 0 to 1
    cells: int
    tuning: str  # the mark of the other study's comparisons


def ranking(blocks: Sequence[Crossed], rate: float) -> dict[str, list[str]]:
    """Each axis's levels by their mean effect over the factorials, at the rate that is nearest in each of them."""
    found: dict[str, dict[str, list[float]]] = {}
    for block in blocks:
        nearest = min(block.rates, key=lambda own: (abs(own - rate), own))
        for axis in CHOICES:
            if len(block.levels[axis]) > 1:
                means = effects_at(block, axis, nearest).mean(axis=1)
                for level, value in zip(block.levels[axis], means, strict=True):
                    found.setdefault(axis, {}).setdefault(level, []).append(float(value))
    return {axis: sorted(own, key=lambda level: -float(np.mean(own[level]))) for axis, own in found.items()}


def applied(ranked: Ranking, block: Crossed, rate: float) -> tuple[dict[str, str], np.ndarray, np.ndarray]:
    """What the rule chooses, and at each seed its score (S,) and the scores of all cells (C, S)."""
    scores, choice = block.at(rate), {}
    mine = scores
    for place, axis in reversed(list(enumerate(block.levels))):
        levels = block.levels[axis]
        level = next((level for level in ranked.get(axis, ()) if level in levels), None)
        if level is None:
            mine = mine.mean(axis=place)
        else:
            mine = mine.take(levels.index(level), axis=place)
            if len(levels) > 1:
                choice[axis] = level
    return dict(reversed(choice.items())), mine, scores.reshape(-1, scores.shape[-1])


def regrets(mine: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """(S,): at each seed, the score of the cell (C, S) that is best at the other seeds, minus the rule's (S,)."""
    return cells[elected(cells), np.arange(cells.shape[1])] - mine


def elected(cells: np.ndarray) -> np.ndarray:
    """(S,): for each seed, the place of the cell (C, S) that is best at the other seeds; the first of equal ones."""
    others = cells.sum(axis=1, keepdims=True) - cells
    return np.argmax(others.round(9), axis=0)  # rounded, or the order of additions would decide between equal sums


def with_rule_tests(studies: Sequence[Results]) -> list[Results]:
    """The results of all studies, each with the tests of its rule on those that `report.rule` names."""
    by_name = {results.study.name: results for results in studies}
    return [replace(results, rule_tests=_tests(results, by_name)) for results in studies]


def _tests(results: Results, studies: Mapping[str, Results]) -> list[RuleTest]:
    rule = results.study.report.rule
    blocks = crossed(results) if rule is not None else []
    if rule is None or not blocks:
        return []
    found = []
    for other in (studies[name] for name in rule.test if name in studies):
        for block in crossed(other):
            for rate in block.rates:
                choice, mine, cells = applied(ranking(blocks, rate), block, rate)
                regret = statistics.summary(regrets(mine, cells)) if len(mine) > 1 else None
                better = float((cells.mean(axis=1) < mine.mean()).mean())
                about = (results.study.name, other.study.name, other.study.title, block.dataset, block.noise, rate)
                gain = statistics.summary(mine - cells.mean(axis=0))
                found.append(RuleTest(*about, choice, gain, regret, better, len(cells), mark(other.study)))
    return found

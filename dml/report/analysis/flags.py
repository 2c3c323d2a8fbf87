"""What keeps a comparison from deciding anything: cells that are not tuned, still rising, or below the baseline.

- Still rising: over the last fifth of the steps, the least-squares line of the mean curve of a cell's confirmed trials
  rises by more than 2% of the score at the end, and by more than twice the standard error that the curve's own noise
  (the root mean square of its falls in the second half) gives that line.
- Below the baseline: a cell finds its own training classes (R@1, on the first of `SIDES` that has scores) worse than
  the best of what needs no training, of the embedding's length where one is known.

What a study does not store is no flag. Networks without a step of training are baselines themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dml import losses
from dml.config.for_use import caveats
from dml.report.analysis.untrained import Baseline, untrained
from dml.report.labels import SETS
from dml.report.methods import mark
from dml.report.numbers import percent
from dml.report.results import Results, parsed
from dml.types import VALIDATION, Cell, ScoreKey

FIFTH, HALF = 0.2, 0.5  # of the steps
SHARE = 0.02  # of the score at the end
SURE = 2.0  # standard errors

Curve = Sequence[tuple[float, float]]  # (step, score as a share of 1), steps ascending


def still_rises(curve: Curve) -> bool | None:
    """Whether a curve rises when training ends; None if its evaluations are too few to tell."""
    steps, scores = np.array(curve, dtype=float).reshape(-1, 2).T
    if not len(steps) or steps[-1] <= 0:
        return None
    at = steps / steps[-1]
    late = at >= HALF
    if late.sum() < 2 or at[0] > 1 - FIFTH:
        return None
    last = at > 1 - FIFTH
    x = np.append(1 - FIFTH, at[last])
    y = np.append(np.interp(1 - FIFTH, at, scores), scores[last])
    centred = x - x.mean()
    squares = centred @ centred
    rise = FIFTH * (centred @ y) / squares
    noise = np.mean(np.minimum(np.diff(scores[late]), 0.0) ** 2) ** 0.5
    error = FIFTH * noise / squares**0.5
    return bool(rise > max(SHARE * scores[-1], SURE * error))


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean of several trials' curves, by the share of the steps of each, from where all have begun."""
    each = [np.array(curve, dtype=float).T for curve in curves if len(curve) > 1 and curve[-1][0] > 0]
    shares = [steps / steps[-1] for steps, _ in each]
    if not each:
        return []
    start = max(share[0] for share in shares)
    grid = np.unique(np.concatenate(shares).round(9))
    grid = grid[grid >= round(float(start), 9)]
    means = np.mean([np.interp(grid, at, scores) for at, (_, scores) in zip(shares, each, strict=True)], axis=0)
    return list(zip(grid.tolist(), means.tolist(), strict=True))


def continued(curve: Curve, whole: Curve) -> Curve:
    """A curve that ends early, then the course of another trial, scaled to the curve's score where it ends."""
    if not curve or not whole:
        return curve
    end, score = curve[-1]
    steps, scores = zip(*whole, strict=True)
    there = float(np.interp(end, steps, scores))
    scale = score / there if there > 0 else 1.0
    return [*curve, *((step, scale * later) for step, later in whole if step > end)]


RISING, BELOW = "still rising", "below the baseline"
LATE = "best at the end"
SCORE = "recall@1"
SIDES = ("train", "seen", "test")  # the images that judge what was learned, best first
NOT_KNOWN = "whether scores still rise is not known"


@dataclass(frozen=True)
class Flags:
    """Why a comparison decides nothing, and what is not known about it."""

    reasons: tuple[str, ...] = ()  # `not tuned`, `still rising`, `below the baseline (...)`
    unknown: tuple[str, ...] = ()


def flags(results: Results, cells: Iterable[Cell], fixed: bool = False, same_length: bool = False) -> Flags:
    """What keeps a comparison of these cells from deciding anything.

    Parameters
    ----------
    fixed : the comparison is about the settings that it has, so that no tuning is asked for.
    same_length : the baseline has as many dimensions as the embedding, where such a one was scored.
    """
    training = [cell for cell in cells if results.study.training_of(cell).steps > 0]
    trained = [cell for cell in training if losses.closed_form_of(cell.loss.name) is None]
    tuning = "" if fixed else mark(results.study)
    rises = [_still_rises(results, cell) for cell in trained]
    rising = RISING if any(rises) else ""
    below, has_baseline = _below(results, trained, same_length)
    unknown = [NOT_KNOWN] * (None in rises) + ["the baseline is not known"] * (not has_baseline)
    return Flags(tuple(filter(None, (tuning, rising, below))), tuple(unknown))


def doubts(results: Results, *names: str) -> str:
    """The flags of these cells without numbers: `not tuned, below the baseline`; empty if their comparison counts."""
    reasons = flags(results, [results.cells[name] for name in names]).reasons
    return ", ".join(text.partition(" (")[0] for text in reasons)


def marks(results: Results, *names: str) -> str:
    """The flags of these cells without numbers, and their caveats, beside a score of theirs."""
    remarks = (caveat for name in names for caveat in caveats(results.study, results.cells[name]))
    return ", ".join(filter(None, (doubts(results, *names), *dict.fromkeys(remarks))))


def ends_late(results: Results, name: str) -> bool:
    """Whether in half of the class splits or more the chosen tuning trial was best in the last fifth of falling rates.

    Such rates flatten every curve as they end, so it cannot show that more steps gain more.
    """
    cell = results.cells[name]
    curves = _chosen(results, cell).values() if results.study.training_of(cell).schedule != "constant" else ()
    known = [np.array(curve) for curve in curves if len(curve) > 2]
    late = [steps[scores.argmax()] > (1 - FIFTH) * steps[-1] for steps, scores in (curve.T for curve in known)]
    return 0 < len(late) <= 2 * int(sum(late))


def _chosen(results: Results, cell: Cell) -> dict[int, Curve]:
    """By class split, the curve on validation classes of the tuning trial that was chosen."""
    of_splits = results.tuned_of(cell.name).groupby("split")
    best = {split: tried.sort_values("objective", na_position="first", kind="stable") for split, tried in of_splits}
    key = results.objective(cell.dataset, VALIDATION)
    return {split: _curve(tried.iloc[-1]["curve"], key) for split, tried in best.items()}


def _still_rises(results: Results, cell: Cell) -> bool | None:
    """Whether the mean curve of a cell's confirmed trials still rises, or that of the tuning trials behind them."""
    objective = results.objective(cell.dataset)
    whole = _chosen(results, cell)
    confirmed = []
    for row in results.confirmed_of(cell.name).itertuples():
        curve = _curve(row.curve, objective)
        if len(curve) > 1:
            steps = (parsed(row.settings) or {}).get("training.steps", results.study.training_of(cell).steps)
            ended_early = curve[-1][0] < steps
            confirmed.append(continued(curve, whole.get(row.split, ())) if ended_early else curve)
    return still_rises(mean_curve(confirmed or list(whole.values())))


def _curve(text: str, key: str) -> Curve:
    """The score of each evaluated step; snapshots have one score only."""
    points = [(step, scores.get(key, next(iter(scores.values())))) for step, scores in parsed(text) or () if scores]
    return [(step, score) for step, score in points if score is not None and math.isfinite(score)]


def _below(results: Results, cells: list[Cell], same_length: bool) -> tuple[str, bool]:
    """How far the worst cell is below the baseline, in words, and whether all cells have one."""
    worst, text, complete = 0.0, "", True
    for cell in cells:
        comparison = _beside_baseline(results, cell, same_length)
        if comparison is None:
            complete = False
            continue
        key, score, baseline = comparison
        if score - baseline.score < worst:
            worst = score - baseline.score
            side = ScoreKey.parse(key).set
            text = f"{BELOW} (R@1, {SETS[side]}: {percent(score)}, {baseline.label} {percent(baseline.score)})"
    return text, complete


def _beside_baseline(results: Results, cell: Cell, same_length: bool) -> tuple[str, float, Baseline] | None:
    """The score key that judges what a cell has learned, its mean score and the best baseline."""
    dataset, training = results.study.dataset(cell.dataset), results.study.training_of(cell)
    lengths = (training.embedding_size, None) if same_length else (None,)
    for side in SIDES:
        for level in dict.fromkeys((dataset.train_on, *dataset.evaluate_on)):
            key = str(ScoreKey(side, level, SCORE))
            values = results.values(cell.name, key)
            baselines = (untrained(results, cell.dataset, cell.noise, cell.rate, key, length) for length in lengths)
            baseline = next(filter(None, baselines), None)
            if len(values) and baseline is not None:
                return key, float(values.mean()), baseline
    return None

"""How often intervals cover the score on new classes, of simulated scores with known truth.

    python benchmarks/class_splits.py

Each query's score is the sum of normal effects of the classes that train, its class, seed, seed within the class, and
query. The truth is 0. Several splits are folds of one set of classes, so they share classes that train. Intervals:
Student's t over folds, with the variance of independent values and with the corrected one (Nadeau and Bengio 2003),
Student's t over seeds, and seeds and classes together (`interval_coverage.class_term`), which needs only one split.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.analysis.intervals import class_term, seed_interval
from dml.statistics import Estimate

RUNS = 4000
CASES = {  # standard deviations of class that trains, class, seed, seed in a class, query
    "classes": (0.0, 5.0, 1.0, 1.0, 10.0),
    "training classes": (7.0, 5.0, 1.0, 1.0, 10.0),
    "some of all": (3.0, 5.0, 1.0, 1.0, 10.0),
    "seeds": (0.0, 1.0, 3.0, 1.0, 5.0),
}
SHAPES = ((4, 3, 20), (8, 3, 20), (4, 3, 5), (1, 3, 20), (1, 3, 100), (1, 8, 20))  # splits, seeds, classes


def draw(normal: np.random.Generator, shape: tuple[int, int, int], spread: tuple[float, ...]):
    """For each split the scores (S, Q) and classes (Q,). A split trains on the classes of the others, or on as many."""
    splits, seeds, classes = shape
    trains = normal.normal(0, spread[0], (max(splits, 2), classes)).mean(axis=1)
    for i in range(splits):
        labels = np.repeat(np.arange(classes), normal.integers(5, 16, classes))
        of_class, of_query = normal.normal(0, spread[1], classes), normal.normal(0, spread[4], labels.size)
        both = normal.normal(0, spread[3], (seeds, classes))
        seed = normal.normal(0, spread[2], (seeds, 1))
        noise = normal.normal(0, spread[4] / 2, (seeds, labels.size))
        yield np.delete(trains, i).mean() + (of_class + both)[:, labels] + seed + of_query + noise, labels


def coverage(shape: tuple[int, int, int], spread: tuple[float, ...], runs: int = RUNS) -> dict[str, float]:
    """The share of intervals that contain 0, of each kind."""
    normal, hits = np.random.default_rng(0), dict.fromkeys(("corrected", "splits", "seeds", "seeds and classes"), 0)
    for _ in range(runs):
        draws = list(draw(normal, shape, spread))
        seeds = statistics.summary(np.mean([scores.mean(axis=1) for scores, _ in draws], axis=0))
        hits["seeds"] += seeds.low <= 0 <= seeds.high
        if shape[0] > 1:
            means = [scores.mean() for scores, _ in draws]
            for name, overlap in (("splits", 0.0), ("corrected", 1 / (shape[0] - 1))):
                splits = statistics.summary(means, overlap=overlap)
                hits[name] += splits.low <= 0 <= splits.high
        else:
            interval = class_interval(*draws[0])
            hits["seeds and classes"] += interval.low <= 0 <= interval.high
    return {name: count / runs for name, count in hits.items()}


def class_interval(scores: np.ndarray, labels: np.ndarray) -> Estimate:
    """The mean of scores (S, Q) with an interval over seeds and classes (Q,)."""
    counts = np.bincount(labels)
    means = np.array([scores[:, labels == c].mean() for c in range(len(counts))])
    interval = seed_interval(pd.Series(scores.mean(axis=1)), [class_term(means, counts)], [])
    assert interval is not None
    return interval


def main() -> None:
    print("| folds, seeds, classes | what varies most | folds, corrected | folds | seeds | seeds and classes |")
    print("|---|---|---|---|---|---|")
    for shape in SHAPES:
        for name, spread in CASES.items():
            if shape[0] == 1 and spread[0]:
                continue  # one split cannot tell what another would give
            shares = coverage(shape, spread)
            several = shape[0] > 1
            folds = f"{shares['corrected']:.3f} | {shares['splits']:.3f}" if several else " | "
            tested = f"{folds} | {shares['seeds']:.3f} | "
            rest = "" if several else f"{shares['seeds and classes']:.3f}"
            print(f"| {shape[0]}, {shape[1]}, {shape[2]} | {name} | {tested}{rest} |")


if __name__ == "__main__":
    main()

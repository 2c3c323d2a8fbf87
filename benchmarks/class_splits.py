"""How often intervals cover the score on new classes, of simulated scores with known truth.

    python benchmarks/class_splits.py

Each query's score is the sum of normal effects of its class split, class, seed, seed within the class, and query. The
truth is 0. Intervals: Student's t over class splits (`Results.values` with several splits), Student's t over seeds, and
seeds and classes together (`dml.report.analysis.over_classes`), which needs only one split.
"""

from __future__ import annotations

import numpy as np

from dml import statistics
from dml.report.analysis.over_classes import over_classes

RUNS = 4000
CASES = {  # standard deviations of split, class, seed, seed in a class, query
    "classes": (0.0, 5.0, 1.0, 1.0, 10.0),
    "splits": (5.0, 5.0, 1.0, 1.0, 10.0),
    "some of all": (2.0, 5.0, 1.0, 1.0, 10.0),
    "seeds": (0.0, 1.0, 3.0, 1.0, 5.0),
}
SHAPES = ((4, 3, 20), (8, 3, 20), (4, 3, 5), (1, 3, 20), (1, 3, 100), (1, 8, 20))  # splits, seeds, classes


def draw(normal: np.random.Generator, shape: tuple[int, int, int], spread: tuple[float, ...]):
    """For each split the scores (S, Q) and classes (Q,)."""
    splits, seeds, classes = shape
    for _ in range(splits):
        labels = np.repeat(np.arange(classes), normal.integers(5, 16, classes))
        of_class, of_query = normal.normal(0, spread[1], classes), normal.normal(0, spread[4], labels.size)
        both = normal.normal(0, spread[3], (seeds, classes))
        seed = normal.normal(0, spread[2], (seeds, 1))
        noise = normal.normal(0, spread[4] / 2, (seeds, labels.size))
        split = normal.normal(0, spread[0])
        yield split + (of_class + both)[:, labels] + seed + of_query + noise, labels


def coverage(shape: tuple[int, int, int], spread: tuple[float, ...], runs: int = RUNS) -> dict[str, float]:
    """The share of intervals that contain 0, of each kind."""
    normal, hits = np.random.default_rng(0), dict.fromkeys(("splits", "seeds", "seeds and classes"), 0)
    for _ in range(runs):
        found = list(draw(normal, shape, spread))
        seeds = statistics.summary(np.mean([scores.mean(axis=1) for scores, _ in found], axis=0))
        hits["seeds"] += seeds.low <= 0 <= seeds.high
        if shape[0] > 1:
            splits = statistics.summary([scores.mean() for scores, _ in found])
            hits["splits"] += splits.low <= 0 <= splits.high
        else:
            own = over_classes(*found[0])
            hits["seeds and classes"] += own.low <= 0 <= own.high
    return {name: count / runs for name, count in hits.items()}


def main() -> None:
    print("| splits, seeds, classes | what varies most | over splits | over seeds | over seeds and classes |")
    print("|---|---|---|---|---|")
    for shape in SHAPES:
        for name, spread in CASES.items():
            if shape[0] == 1 and spread[0]:
                continue  # one split cannot tell what another would give
            found = coverage(shape, spread)
            several = shape[0] > 1
            over = f"{found['splits']:.3f} | {found['seeds']:.3f} | " if several else f"| {found['seeds']:.3f} | "
            rest = "" if several else f"{found['seeds and classes']:.3f}"
            print(f"| {shape[0]}, {shape[1]}, {shape[2]} | {name} | {over}{rest} |")


if __name__ == "__main__":
    main()

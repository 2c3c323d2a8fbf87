"""Seeds that are added while a comparison is undecided: false findings, coverage, power and seeds, by simulation.

    python benchmarks/sequential.py

Each run is one comparison with normal differences of standard deviation 1, planned with `seeds: {auto: {least: 3, most:
20}}`. Fixed seeds are tested once by the paired t-test.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dml import sequential, statistics

RUNS = 2000  # five times as many without an effect, where a share is small
PLANNED = sequential.looks(3, 20)
EFFECTS = (0.0, 0.5, 0.7, 1.0, 1.5, 2.5)  # in standard deviations of a difference
FAMILY = 5  # comparisons of one study, with Holm's correction


def added(differences: np.ndarray, tests: int = 1) -> np.ndarray:
    """The differences of the seeds that a study would have run."""
    for n in PLANNED[:-1]:
        found = sequential.estimate(differences[:n], PLANNED)
        if found.p * tests < sequential.LEVEL or not sequential.is_open(differences[:n], PLANNED, tests):
            return differences[:n]
    return differences


def run(effect: float, runs: int = RUNS) -> dict[str, float]:
    """Shares of the runs that find a difference and whose interval covers, and the mean number of seeds."""
    normal = np.random.default_rng(1)
    found = covered = seeds = fixed5 = fixed20 = 0
    for _ in range(runs):
        x = effect + normal.standard_normal(PLANNED[-1])
        used = added(x)
        own = sequential.estimate(used, PLANNED)
        found += own.p < sequential.LEVEL
        covered += own.low <= effect <= own.high
        seeds += len(used)
        fixed5 += statistics.paired_t(x[:5]) < sequential.LEVEL
        fixed20 += statistics.paired_t(x) < sequential.LEVEL
    names = ("found", "covered", "seeds", "fixed5", "fixed20")
    return {name: count / runs for name, count in zip(names, (found, covered, seeds, fixed5, fixed20), strict=True)}


def peeking(runs: int = RUNS) -> float:
    """The share of false findings if the plain t-test is read at each look."""
    normal = np.random.default_rng(2)
    draws = (normal.standard_normal(PLANNED[-1]) for _ in range(runs))
    return sum(any(statistics.paired_t(x[:n]) < sequential.LEVEL for n in PLANNED) for x in draws) / runs


def false_in_family(runs: int = RUNS) -> float:
    """The share of studies of several comparisons without any effect that find one, with Holm's correction."""
    normal = np.random.default_rng(3)
    return sum(_finds(normal.standard_normal((FAMILY, PLANNED[-1]))) for _ in range(runs)) / runs


def _finds(draws: np.ndarray) -> bool:
    return min(sequential.estimate(added(x, FAMILY), PLANNED).p for x in draws) * FAMILY < sequential.LEVEL


def lines(runs: int = RUNS) -> Iterator[str]:
    """The table, in Markdown."""
    yield "| true difference | found | interval covers | seeds | found with 5 seeds | with 20 seeds |"
    yield "|---|---|---|---|---|---|"
    for effect in EFFECTS:
        own = run(effect, runs if effect else 5 * runs)
        shares = (f"{own[name]:.1%}" for name in ("found", "covered"))
        yield f"| {effect:g} | {' | '.join(shares)} | {own['seeds']:.1f} | {own['fixed5']:.1%} | {own['fixed20']:.1%} |"


def main() -> None:
    print(f"Looks after {', '.join(map(str, PLANNED))} seeds, each at a level of")
    print(", ".join(f"{level:.4f}" for level in sequential.levels(PLANNED)))
    print("\n".join(lines()))
    print(f"{FAMILY} comparisons without any difference: {false_in_family():.1%} of studies find one.")
    print(f"The plain t-test at each look, without a difference: {peeking():.1%}.")


if __name__ == "__main__":
    main()

"""What `search.warm_start` gains at the same number of tuning trials, for `docs/benchmarks/warm_start.md`.

    nice python benchmarks/warm_start.py --out docs/benchmarks/warm_start.md

The studies, networks and pools of settings are those of `benchmarks/halving.py`. Every setting of a pool is trained to
its end at each rate of wrong labels, and scored on validation classes. Steps are not saved, only settings are chosen.

A search at one rate draws n settings from the pool, without replacement, and takes the best on validation classes at
its end. With a warm start, the first of the n is the best of another search of n settings at the rate before. Random
draws stand for the sampler. Both draw the same settings; the warm start leaves out the last of them.

`regret`: the best validation score of the pool at that rate less that of the chosen setting, in points of MAP@R, over
2,000 draws. `gain`: regret without less regret with, with a standard error.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import halving  # noqa: E402
import numpy as np  # noqa: E402
from sweep import prepare  # noqa: E402

from dml.sweep import keys, specs  # noqa: E402
from dml.sweep.store.trials import FINISHED, TrialStore  # noqa: E402
from dml.training.data import describe  # noqa: E402

RATES = [0.0, 0.2, 0.4]
SIZES = (2, 4, 8)


def scores_of(name: str, work: Path, size: int) -> dict[float, np.ndarray]:
    """For each rate, the score of each setting of the pool after all steps; -inf if it failed."""
    study = halving.study_of(name, RATES)
    root, store = prepare(study), TrialStore(work / "stores" / name)
    machine = halving.Machine(name, root, store)
    tuned = machine.search(sampler="random", trials=size).states[0].tuned
    found = {}
    for cell in study.cells():
        digests = describe(root, cell.dataset, cell.noise, cell.rate, study.search.seed, "tune")
        values = []
        for number in range(size):
            spec = specs.build(study, cell, "tune", study.search.seed, tuned[number][0].settings, digests)
            outcome = machine.segment(keys.key(spec), spec, None)
            ended = outcome.status == FINISHED
            values.append(100 * outcome.scores[f"validation/{halving.METRIC}"] if ended else -np.inf)
            print(name, cell.rate, number, f"{values[-1]:.2f}", flush=True)
        found[cell.rate] = np.array(values)
    return found


def rows_of(name: str, scores: dict[float, np.ndarray]) -> list[str]:
    """The rows of one study: each rate but the first, and each number of trials."""
    rows = []
    for before, rate in itertools.pairwise(RATES):
        first, then = scores[before], scores[rate]
        alike = np.corrcoef(*(np.argsort(np.argsort(own)) for own in (first, then)))[0, 1]
        for size in SIZES:
            draw = np.random.default_rng(0)
            regrets = []
            for _ in range(halving.DRAWS):
                earlier, own = (draw.permutation(len(then))[:size] for _ in range(2))
                best = earlier[np.argmax(first[earlier])]
                warm = [best, *[n for n in own if n != best][: size - 1]]
                regrets.append([then.max() - then[own].max(), then.max() - then[warm].max()])
            cold, kept = np.mean(regrets, axis=0)
            gains = np.subtract(*np.array(regrets).T)
            error = gains.std(ddof=1) / len(gains) ** 0.5
            rows.append(
                f"| {name} | {before:.0%} to {rate:.0%} | {alike:.2f} | {size} | {cold:.2f} | {kept:.2f} | "
                f"{gains.mean():+.2f} ({error:.2f}) |"
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given, commit = halving.begun(parser)
    lines = ["# Searches that start from another", "", (__doc__ or "").strip(), ""]
    lines += [f"`--pool {given.pool}`, {halving.DRAWS:,} draws, {datetime.date.today()}, commit {commit}.", ""]
    lines += ["`alike`: the rank correlation of the settings' scores at the two rates.", ""]
    lines += ["| study | wrong labels | alike | trials | regret without | regret with | gain |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for name in given.studies:
        lines += rows_of(name, scores_of(name, given.work.resolve(), given.pool))
    halving.written([*lines, ""], given.out)


if __name__ == "__main__":
    main()

"""What `search.early_stopping: halving` costs in score, and saves in steps, for `docs/benchmarks/halving.md`.

    nice python benchmarks/halving.py --out docs/benchmarks/halving.md

Three studies with 20% wrong labels and a cosine schedule: `numbers` and its network are those of quickstart; `digits`
trains on the digits 0 to 5 and looks for 6 to 9; `collapse` trains on even and odd only, so more steps are soon worse.
In each, the learning rate and the settings of the loss are searched; trials have 270 steps and are evaluated every 10
on validation classes. Steps are counted, not seconds.

(a) Resampling. A pool of random settings is trained to the end, and confirmed on test classes with one seed. A search
draws settings from the pool. A full search trains all of them. Halving stops trials by the same curves with the rule of
the sweep; a promoted trial has the curve of the uninterrupted one
(`tests/sweep/execution/test_halving_processes.py`). Each draw gives the same settings to all. `search.first_rung` sets
the first rung; its default of 0.17 is 50 steps here, the nearest evaluation. `beside full`: the regret less that of the
full search with the same settings.

(b) Searches as a study runs them (TPE; `stop: best`), with the sweep's plan and real trials that pause and resume.
Their steps are those that the training loop made.

(c) Other ladders (`--ladders`): those of at most 30% of the steps among a grid of rungs and of how many are promoted,
beside as many steps spent on whole trials. All resample the pool, with `stop: last`.

`regret`: the best validation score of the pool less that of the chosen setting, both after all steps (`last`) or at the
best step (`best`), in points of MAP@R. `test`: MAP@R on test classes of the chosen setting, trained on all training
classes, and ended where its search says.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import numpy as np  # noqa: E402
import optuna  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from sweep import prepare  # noqa: E402

from dml.config import Ladder, SearchSection, Study, ladder, value_of  # noqa: E402
from dml.statistics import summary  # noqa: E402
from dml.sweep import keys, specs  # noqa: E402
from dml.sweep.plan.halving import promotions  # noqa: E402
from dml.sweep.plan.plan import Plan  # noqa: E402
from dml.sweep.progress.results import git_commit  # noqa: E402
from dml.sweep.store.trials import FINISHED, PAUSED, Outcome, TrialStore  # noqa: E402
from dml.training.data import describe  # noqa: E402
from dml.training.loop import Training  # noqa: E402
from dml.types import TrialSpec  # noqa: E402

STEPS, EVERY, METRIC, RATE_OF_NOISE = 270, 10, "fine/map@r", 0.2
DRAWS, SIZES = 2000, {9: (30, 50, 60, 90), 27: (10, 30, 40, 50, 60, 90)}  # trials -> the first rungs that are tried
SHARED: dict[str, Any] = {
    "seeds": [0],
    "evaluation": {"metrics": ["map@r"], "every": EVERY},
}
RATE = {"learning_rate": {"log_uniform": [1e-4, 1e-1]}}
STUDIES: dict[str, dict[str, Any]] = {
    "numbers": {
        "datasets": [{"name": "numbers", "settings": {"size": 14}}],
        "losses": [{"name": "triplet", "positives": ["all"], "negatives": ["semihard_random"]}],
        "training": {"backbone": {"name": "small_conv", "settings": {"width": 16, "grid": 2}}, "channels_last": True},
    },
    "digits": {
        "datasets": ["digits"],
        "losses": [{"name": "margin", "positives": ["all"], "negatives": ["distance_weighted"]}],
        "training": {"backbone": "mlp", "embedding_size": 16, "batch": {"classes": 3, "per_class": 16}},
    },
    "collapse": {
        "datasets": [{"name": "digits", "train_on": "coarse", "evaluate_on": ["fine"]}],
        "losses": [{"name": "contrastive", "positives": ["random"], "negatives": ["random"]}],
        "training": {"backbone": "small_conv", "embedding_size": 16, "batch": {"classes": 2, "per_class": 32}},
    },
}


def study_of(name: str, rates: Sequence[float] = (RATE_OF_NOISE,), **search: Any) -> Study:
    """One of the studies, with a search."""
    own = STUDIES[name]
    training = {**own["training"], "steps": STEPS, "schedule": "cosine", "search": RATE}
    section = {"stop": "best", "objective": "map@r", **search}
    noise = [{"model": "uniform", "rates": list(rates)}]
    given = {"training": training, "title": name, "name": name, "search": section, "noise": noise}
    return Study(**{**SHARED, **own, **given})


class Machine:
    """Runs a study's trials in this process, one after the other, in segments as a worker does; counts their steps."""

    def __init__(self, name: str, root: Path, store: TrialStore):
        self.name, self.root, self.store, self.steps = name, root, store, 0

    def search(self, **search: Any) -> Plan:
        """A whole search, with the confirmation of its best setting."""
        study = study_of(self.name, **search)
        plan = Plan(study, self.store, lambda *asked: describe(self.root, *asked), optuna.storages.InMemoryStorage())
        plan.start(lambda job, outcome, reused: None)
        while (job := plan.take()) is not None:
            plan.end(job.id, self.segment(job.key, job.spec, job.until))
        return plan

    def segment(self, key: str, spec: TrialSpec, until: int | None) -> Outcome:
        """Train a trial from its checkpoint until it pauses or ends, unless the store has that."""
        found = self.store.reached(key, until)
        if found is not None:
            return found
        training = Training(spec, self.root, self.store.folder(key))
        begun = training.step
        while not training.finished and not (until is not None and training.step >= until):
            training.advance()
        self.steps += training.step - begun if spec.phase == "tune" else 0
        result = training.result()
        curve = [[point.step, dict(point.scores)] for point in result.curve]
        outcome = Outcome(FINISHED if training.finished else PAUSED, dict(result.scores), curve)
        self.store.write(key, outcome)
        training.close()
        return outcome


@dataclass(frozen=True)
class Pool:
    """Settings that were trained to the end: curves of validation and of test scores, from 0 to 1."""

    validation: list[list[Any]]
    test: list[list[Any]]
    values: dict[str, dict[tuple[int, int], float]] = field(default_factory=dict)  # by rule: (number, steps) -> value


def pool_of(name: str, root: Path, store: TrialStore, size: int) -> Pool:
    """Train a pool of random settings, and confirm each of them."""
    machine = Machine(name, root, store)
    plan = machine.search(sampler="random", trials=size)
    (cell,) = plan.study.cells()
    digests = describe(root, cell.dataset, cell.noise, cell.rate, 0, "confirm")
    validation, test = [], []
    for number in range(size):
        job, outcome = plan.states[0].tuned[number]
        spec = specs.build(plan.study, cell, "confirm", 0, job.settings, digests)
        spec = replace(spec, evaluation=replace(spec.evaluation, at_start=True))
        confirmed = machine.segment(keys.key(spec), spec, None)
        if outcome.status == FINISHED:
            validation.append(outcome.curve)
            test.append(confirmed.curve)
        print(name, number, outcome.status, f"{confirmed.scores.get('test/' + METRIC, np.nan):.3f}", flush=True)
    return Pool(validation, test)


def halved(pool: Pool, drawn: np.ndarray, search: SearchSection, first: int) -> tuple[int, int]:
    """(the setting that halving chooses among those drawn, the steps that it takes)."""
    rungs = _ladder(search, len(drawn), first)
    names = [str(number) for number in drawn]
    values = {name: [_value(pool, int(name), search, rungs.steps[0])] for name in names}
    while (found := promotions(rungs.trials, values, names)) is not None:
        rung, promoted = found
        for name in promoted:
            values[name].append(_value(pool, int(name), search, rungs.steps[rung]))
    last = [name for name in names if len(values[name]) == len(rungs.steps)]
    return int(max(last, key=lambda name: values[name][-1])), rungs.cost


def _ladder(search: SearchSection, trials: int, first: int) -> Ladder:
    return ladder(search.model_copy(update={"first_rung": first / STEPS}), trials, STEPS, EVERY)


def full(pool: Pool, drawn: np.ndarray, search: SearchSection) -> tuple[int, int]:
    """The same without early stopping."""
    return int(max(drawn, key=lambda number: _value(pool, int(number), search, STEPS))), len(drawn) * STEPS


def resampled(pool: Pool, stop: str) -> list[str]:
    """The rows of (a) with one rule of when to stop."""
    search = SearchSection(early_stopping="halving", stop=stop, objective="map@r")  # type: ignore[arg-type]
    count = len(pool.validation)
    best = max(_value(pool, number, search, STEPS) for number in range(count))
    arms: dict[str, tuple[int, Callable[[Pool, np.ndarray, SearchSection], tuple[int, int]], int]] = {}
    for size, firsts in SIZES.items():
        arms[f"all of {size}"] = size, full, size
        for first in firsts:
            equal = max(1, round(_ladder(search, size, first).cost / STEPS))
            arms[f"halving of {size} from {first} steps"] = size, partial(halved, first=first), size
            arms[f"{equal} of the {size}, whole, for about as many"] = size, full, equal
    draw, chosen = np.random.default_rng(0), {name: [] for name in arms}
    steps = dict.fromkeys(arms, 0)
    for _ in range(DRAWS):
        drawn = draw.permutation(count)[: max(SIZES)]
        for name, (_, choose, size) in arms.items():
            number, steps[name] = choose(pool, drawn[:size], search)
            chosen[name].append(number)
    rows = []
    regrets = {
        name: 100 * np.array([best - _value(pool, n, search, STEPS) for n in own]) for name, own in chosen.items()
    }
    for name, (size, _, _) in arms.items():
        regret, whole = regrets[name], f"all of {size}"
        test = 100 * np.array([_test(pool, number, stop) for number in chosen[name]])
        same = np.mean(np.equal(chosen[name], chosen[whole]))
        rows.append(
            f"| {stop} | {name} | {steps[name]:,} | {steps[name] / (size * STEPS):.0%} | {regret.mean():.2f} | "
            f"{np.quantile(regret, 0.9):.2f} | {(regret - regrets[whole]).mean():+.2f} | {test.mean():.2f} | "
            f"{same:.0%} |"
        )
    return rows


def _value(pool: Pool, number: int, search: SearchSection, steps: int) -> float:
    """What a setting counts with after so many steps."""
    kept = pool.values.setdefault(search.stop, {})
    if (number, steps) not in kept:
        curve = [point for point in pool.validation[number] if point[0] <= steps]
        value = value_of(search, "tune", f"validation/{METRIC}", curve[-1][1], curve)
        assert value is not None
        kept[number, steps] = value
    return kept[number, steps]


def _test(pool: Pool, number: int, stop: str) -> float:
    """The test score of a setting that ends where its search says."""
    scores = {step: found[f"test/{METRIC}"] for step, found in pool.test[number]}
    if stop == "last":
        return scores[STEPS]
    curve = pool.validation[number]
    return scores[max(curve, key=lambda point: (point[1][f"validation/{METRIC}"], -point[0]))[0]]


def searched(name: str, work: Path, seeds: int) -> list[str]:
    """The rows of (b)."""
    arms: dict[str, Mapping[str, Any]] = {
        "all of 9": {"trials": 9},
        "halving of 9": {"trials": 9, "early_stopping": "halving"},
        "halving of 27": {"trials": 27, "early_stopping": "halving"},
        "all of 3": {"trials": 3},
    }
    found: dict[str, list[tuple[int, float, float]]] = {arm: [] for arm in arms}
    for seed in range(1, seeds + 1):
        root = prepare(study_of(name, seed=seed))  # its labels of tuning are wrong in other places
        for arm, search in arms.items():
            path = work / "searches" / f"{name}-{arm}-{seed}.json".replace(" ", "-")
            if not path.is_file():
                store = TrialStore(work / "stores" / path.stem)  # its own, so that its steps are all made
                machine = Machine(name, root, store)
                plan = machine.search(sampler="tpe", seed=seed, **search)
                best = plan.best(0)
                assert best is not None
                (job, outcome) = plan.states[0].confirmed[0]
                record = [machine.steps, plan.value(*best), outcome.scores[plan.objective(job)]]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(record))
            found[arm].append(tuple(json.loads(path.read_text())))
            print(name, "search", seed, arm, found[arm][-1], flush=True)
    whole = found["all of 9"]
    rows = []
    for arm, own in found.items():
        steps = np.mean([record[0] for record in own])
        share = steps / np.mean([record[0] for record in whole])
        gains = [100 * np.array([a[k] - b[k] for a, b in zip(own, whole, strict=True)]) for k in (1, 2)]
        beside = "" if arm == "all of 9" else " | ".join(_interval(gain) for gain in gains)
        scores = " | ".join(f"{100 * np.mean([record[k] for record in own]):.2f}" for k in (1, 2))
        rows.append(f"| {arm} | {steps:,.0f} | {share:.0%} | {scores} | {beside or ' | '} |")
    return rows


def _interval(values: np.ndarray) -> str:
    found = summary(values)
    return f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"


LADDERS = [
    ((first, second), (keep, last))
    for first in (20, 30, 40, 50, 60, 70)
    for second in (90, 130, 180, 270)
    for keep in (2, 3, 4, 6, 9, 13)
    for last in (1, 2, 3)
    if keep >= last and (second < 270 or keep == last)
]
"""(after how many steps the first and the second rung are, how many of 27 trials reach the second rung and the end)."""
AFFORDED = 0.30
COLUMNS = (
    "| stop | search | steps | of a full search | regret, mean | 90% quantile | beside full | test | same choice |"
)


def other_ladders(pool: Pool) -> list[str]:
    """The rows of (c): the ladders with the least mean regret, beside whole trials for as many steps."""
    search = SearchSection(stop="last", objective="map@r")
    scores = np.array(
        [
            [_value(pool, n, search, step) for step in range(EVERY, STEPS + 1, EVERY)]
            for n in range(len(pool.validation))
        ]
    )
    best, size, draw = scores[:, -1].max(), max(SIZES), np.random.default_rng(0)
    drawn = [draw.permutation(len(scores))[:size] for _ in range(DRAWS)]
    rows = []
    for (first, second), (keep, last) in LADDERS:
        cost = (size * first + keep * (second - first) + last * (STEPS - second)) / (size * STEPS)
        if cost > AFFORDED:
            continue
        regrets = []
        for own in drawn:
            kept = own[np.argsort(-scores[own, first // EVERY - 1], kind="stable")[:keep]]
            kept = kept[np.argsort(-scores[kept, second // EVERY - 1], kind="stable")[:last]]
            regrets.append(best - scores[kept, -1].max())
        rows.append((100 * np.mean(regrets), first, second, keep, last, cost))
    whole = {n: 100 * np.mean([best - scores[own[:n], -1].max() for own in drawn]) for n in (8, size)}
    lines = [f"Regret of all of {size}: {whole[size]:.2f}; of 8 whole trials (30% of the steps): {whole[8]:.2f}.", ""]
    lines += [
        "| first rung | second rung | reach it | reach the end | steps | regret, mean |",
        "|---|---|---|---|---|---|",
    ]
    for regret, first, second, keep, last, cost in sorted(rows)[:6]:
        lines.append(f"| {first} | {second} | {keep} | {last} | {cost:.0%} | {regret:.2f} |")
    return [*lines, ""]


def section(name: str, work: Path, size: int, seeds: int, ladders: bool) -> list[str]:
    """The tables of one study."""
    root = prepare(study_of(name))
    pool = pool_of(name, root, TrialStore(work / "stores" / name), size)
    loss = STUDIES[name]["losses"][0]["name"]
    lines = [f"## {name}", "", f"Loss: {loss}. Pool: {len(pool.validation)} of {size} settings that did not fail.", ""]
    scores = pd.DataFrame([{step: found[f"validation/{METRIC}"] for step, found in curve} for curve in pool.validation])
    ranks = scores.rank().corr()[STEPS]
    early = ", ".join(f"{ranks[step]:.2f} after {step}" for step in (10, 30, 90))
    lines += [
        f"Rank correlation (Spearman) of the settings' validation scores with those after {STEPS} steps: {early}.",
        "",
    ]
    lines += [COLUMNS, "|---" * 9 + "|"]
    lines += [row for stop in ("last", "best") for row in resampled(pool, stop)]
    if ladders:
        lines += ["", f"Ladders of at most {AFFORDED:.0%} of the steps of all {max(SIZES)} trials, the best six:", ""]
        lines += other_ladders(pool)
    if seeds:
        lines += ["", f"{seeds} searches by TPE, `search.seed` 1 to {seeds}; differences are paired by seed [95%].", ""]
        lines += ["| search | steps | of all of 9 | validation | test | validation, beside all of 9 | test, beside |"]
        lines += ["|---|---|---|---|---|---|---|", *searched(name, work, seeds)]
    return [*lines, ""]


def begun(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, str]:
    """The options, with those that benchmarks on these pools share, and the commit; the folder is then `--work`."""
    parser.add_argument("--studies", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--pool", type=int, default=40, help="settings of each study that are trained to their end")
    parser.add_argument("--work", type=Path, default=Path("/tmp/dml-halving"), help="keeps what was trained")
    parser.add_argument("--out", type=lambda text: Path(text).resolve())
    given, commit = parser.parse_args(), git_commit()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    torch.set_num_threads(1)
    given.work.mkdir(parents=True, exist_ok=True)
    os.chdir(given.work)
    return given, commit


def written(lines: Sequence[str], out: Path | None) -> None:
    """Print a page, and write it if a file is given."""
    text = "\n".join(lines)
    print(text)
    if out is not None:
        out.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="searches by TPE for each arm")
    parser.add_argument("--ladders", action="store_true", help="also (c), other ladders")
    given, commit = begun(parser)
    lines = ["# Successive halving of tuning trials", "", (__doc__ or "").strip(), ""]
    options = f"--studies {' '.join(given.studies)} --pool {given.pool} --seeds {given.seeds}"
    lines += [f"`{options}`, {DRAWS:,} draws, {datetime.date.today()}, commit {commit}.", ""]
    for name in given.studies:
        lines += section(name, given.work, given.pool, given.seeds, given.ladders)
    written(lines, given.out)


if __name__ == "__main__":
    main()

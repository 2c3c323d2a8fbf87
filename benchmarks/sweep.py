"""Measures a sweep's cost beside that of its trials, and writes the table of `docs/benchmarks/sweep.md`.

    python benchmarks/sweep.py [--parts abc] [--trials 100,1000,10000] [--out docs/benchmarks/sweep.md]

(a) A trial in the sweep against the bare training loop in one process: the same trials of the study `collapse-digits`,
one at a time, in a warm worker (measured from the end of the first trial to the end of the last one).
(b) Trials per hour of the study `collapse-digits`: the sweep against one process per trial, with one process per
processor at a time. Both start cold.
(c) The driver's time for trials that do nothing, with and without MLflow (SQLite), kept up to date by a process beside
it: wall-clock time until both end, and the driver's CPU time, which does not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from dml.config import Study, load_study  # noqa: E402
from dml.pipeline import corrupt, download, pack, split  # noqa: E402
from dml.types import EvaluationPoint, TrialResult, TrialSpec  # noqa: E402

METRICS = [f"fine/recall@{k}" for k in range(1, 21)]


class Nothing:
    """A trainer that does nothing and returns twenty scores."""

    def __init__(self, spec: TrialSpec, data_root: Path, folder: Path, device: str):
        self._set = spec.evaluation.sets[0]
        self.finished = False

    def advance(self) -> EvaluationPoint:
        self.finished = True
        return EvaluationPoint(1, self._scores())

    def result(self) -> TrialResult:
        return TrialResult(self._scores(), [EvaluationPoint(1, self._scores())], {}, 0.0)

    def discard_checkpoint(self) -> None: ...

    def close(self) -> None: ...

    def _scores(self) -> dict[str, float]:
        return {f"{self._set}/{name}": 0.5 for name in METRICS}


def prepare(study: Study) -> Path:
    """Run the data stages of a study in the working directory; returns the folder with their outputs."""
    for stage in (download, pack, split, corrupt):
        stage.run(study)
    return Path("data") / study.name


def collapse(**changes: object) -> Study:
    """The study `collapse-digits` with sections replaced."""
    study = load_study(ROOT / "benchmarks" / "collapse-digits.yaml")
    return Study(**{**study.model_dump(mode="json"), **changes, "name": "collapse-digits"})


def overhead(steps: int, seeds: int) -> str:
    """The row of (a)."""
    import torch

    from dml.sweep.plan import specs
    from dml.sweep.run import run_study
    from dml.training.data import describe
    from dml.training.loop import Training

    torch.set_num_threads(1)
    changes = {
        "noise": [{"model": "uniform", "rates": [0.2]}],
        "losses": ["triplet"],
        "positives": ["easy"],
        "negatives": ["random"],
        "seeds": list(range(seeds)),
        "search": {"sampler": "fixed"},
        "resources": {"concurrent": 1},
        "training": {**collapse().model_dump(mode="json")["training"], "steps": steps},
        "evaluation": {"metrics": ["recall@1", "map@r", "nmi"], "every": steps // 3, "sets": ["test"]},
    }
    study = collapse(**changes)
    root = prepare(study)
    cell = study.cells()[0]
    bare = []
    for seed in study.seeds:
        digests = describe(root, cell.dataset, cell.noise, cell.rate, seed, "confirm")
        started = time.perf_counter()
        training = Training(specs.build(study, cell, "confirm", seed, {}, digests), root, Path(f"bare/{steps}/{seed}"))
        while not training.finished:
            training.advance()
        training.result()
        training.discard_checkpoint()
        training.close()
        bare.append(time.perf_counter() - started)
    ends: list[float] = []
    store = Path(f"store-a/{steps}")
    run_study(study, root, store, Path(f"out-a/{steps}"), describe=lambda *a: describe(root, *a))
    for path in store.glob("trials/*/result.json"):
        ends.append(path.stat().st_mtime)
    between = (max(ends) - min(ends)) / (len(ends) - 1)
    typical = statistics.mean(bare[1:])
    more = between - typical
    share = f"{more:+.3f} s ({100 * more / typical:+.1f}%)"
    return f"| (a) {seeds} trials of {steps} steps | {typical:.3f} s bare | {between:.3f} s in the sweep | {share} |"


def one_process_each() -> str:
    """The row of (b)."""
    study = collapse(
        noise=[{"model": "uniform", "rates": [0.2]}], losses=["triplet"], seeds=[0, 1, 2], search={"trials": 3}
    )
    root = prepare(study)
    command = [sys.executable, __file__, "--one", str(root)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    processors = len(os.sched_getaffinity(0))
    started = time.perf_counter()
    with ThreadPoolExecutor(processors) as pool:
        trials = 2 * processors
        jobs = [pool.submit(subprocess.run, [*command, str(n)], env=environment, check=True) for n in range(trials)]
        for job in jobs:
            job.result()
    alone = 3600 * trials / (time.perf_counter() - started)
    started = time.perf_counter()
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import sweep; from pathlib import Path;"
        "from dml.config import Study; import json;"
        "study = Study(**json.loads(sys.argv[2]), name='collapse-digits');"
        "sweep.swept(study, 'data/collapse-digits', 'b', 'sqlite:///b.db')"
    )
    arguments = [str(ROOT / "benchmarks"), json.dumps(study.model_dump(mode="json"))]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    count = json.loads(Path("out-b/summary.json").read_text())["trials"]
    swept = 3600 * count / (time.perf_counter() - started)
    ratio = swept / alone
    rates = f"{alone:.0f} with a process each | {swept:.0f} in the sweep"
    return f"| (b) collapse-digits trials per hour | {rates} | {ratio:.1f}x |"


def swept(study: Study, data: str, name: str, tracking: str, **kind: Any) -> None:
    """Sweep a study into `store-<name>` and `out-<name>`, with a process beside it that keeps MLflow up to date."""
    from dml.pipeline.syncing import Place, syncing
    from dml.sweep.run import run_study

    file, store, out = Path(f"{study.name or name}.yaml"), f"store-{name}", f"out-{name}"
    file.write_text(yaml.safe_dump(study.model_dump(mode="json", exclude={"name"})))
    place = Place(str(file), data, store, out, "audit", "page.html", tracking)
    with nullcontext() if tracking == "off" else syncing(place):
        run_study(study, Path(data), Path(store), Path(out), **kind)


def one(root: Path, number: int) -> None:
    """Run one trial in this process, for (b)."""
    from dml.sweep.plan import specs
    from dml.training.data import describe
    from dml.training.loop import Training

    study = collapse(noise=[{"model": "uniform", "rates": [0.2]}], losses=["triplet"])
    cell, seed = study.cells()[number % len(study.cells())], number % 3
    digests = describe(root, cell.dataset, cell.noise, cell.rate, seed, "confirm")
    training = Training(specs.build(study, cell, "confirm", seed, {}, digests), root, Path(f"alone/{number}"))
    while not training.finished:
        training.advance()


def nothing(trials: int, tracking: str) -> str:
    """A row of (c)."""
    study = collapse(
        noise=[{"model": "uniform", "rates": [k / 10000 for k in range(trials // 10)]}],
        losses=["triplet"],
        positives=["random"],
        negatives=["random"],
        seeds=[0, 1],
        search={"sampler": "tpe", "trials": 8},
    )
    name = f"{trials}-{tracking.partition(':')[0]}"

    def digests(*settings: object) -> dict[str, str]:
        return {"packed": "none", "split": "none", "labels": repr(settings)}

    started, used = time.perf_counter(), time.process_time()
    swept(study, ".", name, tracking, trainer="sweep.Nothing", describe=digests)
    clock, cpu = time.perf_counter() - started, time.process_time() - used
    summary = json.loads(Path(f"out-{name}/summary.json").read_text())
    assert summary["finished"] == trials, summary
    label = "without MLflow" if tracking == "off" else "with MLflow"
    per = f"{1000 * clock / trials:.0f} ms per trial, wall clock | {1000 * cpu / trials:.0f} ms of the driver's CPU"
    return f"| (c) {trials:,} trials that do nothing, {label} | {clock:.1f} s | {per} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="abc")
    parser.add_argument("--trials", default="100,1000,10000", help="sizes for (c)")
    parser.add_argument("--steps", default="120x12,12000x4", help="steps per trial x number of trials, for (a)")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(Path(arguments.one[0]), int(arguments.one[1]))
        return
    out = arguments.out.resolve() if arguments.out else None
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if "c" in arguments.parts:
            # The first sweep of a process starts Ray and imports torch in the workers, so it is not measured.
            nothing(20, "off")
            for trials in map(int, arguments.trials.split(",")):
                lines += [nothing(trials, "off"), nothing(trials, f"sqlite:///{folder}/{trials}.db")]
        if "a" in arguments.parts:
            lines += [overhead(*map(int, trial.split("x"))) for trial in arguments.steps.split(",")]
        if "b" in arguments.parts:
            lines.append(one_process_each())
        os.chdir(ROOT)
    text = "\n".join(lines)
    print(text)
    if out:
        command = f"`python benchmarks/sweep.py {' '.join(sys.argv[1:])}`"
        out.write_text(f"# A sweep's own cost\n\n{__doc__}\n{command}\n\n| | | | |\n|---|---|---|---|\n{text}\n")


if __name__ == "__main__":
    main()

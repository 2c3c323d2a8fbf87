"""Measures a sweep on a cluster of local nodes that are lost and replaced: the driver's cost, and the idle share.

    python benchmarks/nodes.py [--nodes 8] [--trials 2000] [--seconds 3] [--lost 60] [--out docs/benchmarks/nodes.md]

Each node is a Ray node of its own processes with one processor, on this machine. A trial sleeps a second between two
evaluations, for `--seconds` in all, and saves a checkpoint after each, so it needs almost no processor. Every `--lost`
seconds a node is killed, and another one joins at once (0: none is lost). The driver's cost is the processor time of
its process. The idle share is that of the nodes' seconds, from the start of the first trial to the end of the last one,
in which no trial slept; starting a node's first worker is part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "benchmarks")]

from dml.files import read_json, write_json  # noqa: E402
from dml.types import EvaluationPoint, TrialResult, TrialSpec  # noqa: E402

NODE = {"num_cpus": 1, "object_store_memory": 10**8}


class Sleeping:
    """A trainer that sleeps a second for each of `training.steps`, and evaluates after each."""

    def __init__(self, spec: TrialSpec, data_root: Path, folder: Path, device: str):
        self._steps, self._set = spec.training.total_steps, spec.evaluation.sets[0]
        self._path, self._log = Path(folder) / "checkpoint" / "state.json", Path(data_root) / f"slept-{os.getpid()}"
        self._done = (read_json(self._path) or {"done": 0})["done"]

    @property
    def finished(self) -> bool:
        return self._done >= self._steps

    def advance(self) -> EvaluationPoint:
        started = time.time()
        time.sleep(1)
        with open(self._log, "a", encoding="utf-8") as file:
            file.write(f"{started} {time.time()}\n")
        self._done += 1
        write_json(self._path, {"done": self._done})
        return EvaluationPoint(self._done, self._scores())

    def result(self) -> TrialResult:
        curve = [EvaluationPoint(step, self._scores()) for step in range(1, self._done + 1)]
        return TrialResult(self._scores(), curve, {}, float(self._done))

    def discard_checkpoint(self) -> None:
        self._path.unlink(missing_ok=True)

    def close(self) -> None: ...

    def _scores(self) -> dict[str, float]:
        return {f"{self._set}/fine/recall@{k}": 0.5 for k in range(1, 21)}


def losing(cluster: Any, nodes: list[Any], seconds: float, sweep: Future[Any]) -> int:
    """Kill a node of the cluster every so many seconds while the sweep runs, and add another one. Returns how many."""
    lost = 0
    while not wait([sweep], timeout=seconds or None).done:
        cluster.remove_node(nodes.pop(0), allow_graceful=False)
        nodes.append(cluster.add_node(**NODE))
        lost += 1
    return lost


def run(nodes: int, trials: int, seconds: int, lost: float, folder: Path) -> str:
    """A row of the table."""
    import ray
    import sweep as benchmark
    from ray.cluster_utils import Cluster

    from dml.sweep.execution.cluster import connect
    from dml.sweep.run import run_study

    folder.mkdir()
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "include_dashboard": False})
    try:
        workers = [cluster.add_node(**NODE) for _ in range(nodes)]
        with ThreadPoolExecutor(1) as pool:  # Ray starts nodes only from the main thread
            os.environ["RAY_ADDRESS"] = cluster.address
            connect()
            study = benchmark.collapse(
                noise=[{"model": "uniform", "rates": [k / 10000 for k in range(trials // 10)]}],
                losses=["triplet"],
                positives=["random"],
                negatives=["random"],
                seeds=[0, 1],
                search={"sampler": "tpe", "trials": 8, "stop": "last"},  # each of `seconds`
                training={**benchmark.collapse().model_dump(mode="json")["training"], "steps": seconds},
                evaluation={"metrics": ["recall@1"], "every": 1, "sets": ["test"]},
            )

            def digests(*settings: object) -> dict[str, str]:
                return {"packed": "none", "split": "none", "labels": repr(settings)}

            used = time.process_time()
            arguments = (study, folder, folder / "store", folder / "out", "nodes.Sleeping", digests)
            sweep = pool.submit(run_study, *arguments)
            died = losing(cluster, workers, lost, sweep)
            sweep.result()
            used = time.process_time() - used
    finally:
        ray.shutdown()
        cluster.shutdown()
    slept = [
        tuple(map(float, line.split())) for path in folder.glob("slept-*") for line in path.read_text().splitlines()
    ]
    clock = max(end for _, end in slept) - min(start for start, _ in slept)
    busy = sum(end - start for start, end in slept)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["finished"] == trials, summary
    return (
        f"| {nodes} | {trials:,} of {seconds} s | {died} | {summary['resumed']} | {clock:.0f} s "
        f"| {1000 * used / trials:.0f} ms | {1 - busy / (clock * nodes):.1%} | {busy / (trials * seconds) - 1:.2%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--lost", default="0,60", help="seconds between two losses of a node, one or several")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    out = arguments.out.resolve() if arguments.out else None
    lines = [
        "| nodes | trials | nodes lost | trials resumed | clock | driver's processor, a trial | idle | repeated work |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for lost in map(float, arguments.lost.split(",")):
            before = os.getloadavg()[1]
            row = run(arguments.nodes, arguments.trials, arguments.seconds, lost, Path(folder) / f"lost-{lost:g}")
            lines.append(row)
            print(row, f"load average {before:.0f} before, {os.getloadavg()[1]:.0f} after", flush=True)
    text = "\n".join(lines)
    if out:
        command = f"`python benchmarks/nodes.py {' '.join(sys.argv[1:])}`"
        out.write_text(f"# A cluster that loses nodes\n\n{__doc__}\n{command}\n\n{text}\n")


if __name__ == "__main__":
    main()

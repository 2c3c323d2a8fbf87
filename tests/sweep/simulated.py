"""A sweep without workers: the plan's trials end at once, with scores that a function gives and a model on disk."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import toy

from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

HOLD = """
import sys, time
from pathlib import Path
from dml.sweep.store.trials import TrialStore, only_sweep
root, key = Path(sys.argv[1]), sys.argv[2]
with TrialStore(root).lock(key) if key else only_sweep(root, "other"):
    print("held", flush=True)
    time.sleep(60)
"""


def simulate(study, root: Path, score=lambda job: 0.5, size=100, stop=None, published=None) -> Plan:
    """A plan whose trials have ended, or the first `stop` ones; `size` are the bytes of a model."""
    store = TrialStore(root / "store", snapshot_outcomes=published)
    plan = Plan(study, store, toy.describe)
    plan.start(lambda job, outcome, reused: None)
    count = 0
    while (job := plan.take()) is not None and count != stop:
        count += 1
        value = score(job)
        part = "validation" if job.phase == "tune" else "test"
        outcome = Outcome(
            FINISHED,
            {f"{part}/fine/recall@1": value, f"{part}/fine/nmi+": value / 2},
            [[10, {f"{part}/fine/recall@1": value}]],
            seconds=2.0,
            started="2026-01-01T00:00:00+00:00",
        )
        store.begin(job.key, "{}")
        if job.phase == "confirm":
            write_model(store, job.key, size)
        store.write(job.key, outcome)
        plan.end(job.id, outcome)
    return plan


def write_model(store: TrialStore, key: str, size: int = 100) -> None:
    folder = store.folder(key) / "model"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"w" * size)
    description = {"image_shape": [8, 8, 1], "network": {"embedding_size": 4}}
    (folder / "model.json").write_text(json.dumps(description))


def models(root: Path) -> set[str]:
    """The keys of the trials with a model."""
    return {path.parent.name for path in root.glob("store/trials/*/model")}


@contextmanager
def running(root: Path, key: str = "") -> Iterator[None]:
    """Meanwhile another process has the lock of a trial or, without one, that of a sweep of the same store."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, root / "store", key], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
    finally:
        process.kill()
        process.wait()

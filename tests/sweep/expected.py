"""What a sweep of toys must give: the same plan, run in this process without Ray, without a pause."""

from pathlib import Path
from typing import Any

import driver
import pandas as pd
import toy

from dml.sweep.plan.plan import Plan
from dml.sweep.progress.results import trials_frame
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

DECIDED = ["key", "cell", "phase", "number", "seed", "status", "settings", "objective", "curve", "diagnostics"]


def frame(folder: Path, **overrides: Any) -> pd.DataFrame:
    """The trials of an uninterrupted sweep, in the columns that its settings decide."""
    study = driver.study(**overrides)
    (folder / "toy.json").write_text("{}")
    plan = Plan(study, TrialStore(folder), toy.describe)
    plan.start(lambda job, outcome, reused: None)
    while not plan.finished:
        job = plan.take()
        trainer = toy.Toy(job.spec, folder, folder / job.key)
        while not trainer.finished:
            trainer.advance()
        result = trainer.result()
        curve = [[point.step, dict(point.scores)] for point in result.curve]
        plan.end(job.id, Outcome(FINISHED, result.scores, curve, result.diagnostics))
    return trials_frame(study, plan)[DECIDED]

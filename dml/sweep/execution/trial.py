"""Runs trials in a Ray worker. Workers are reused: the next trial only brings new settings.

An error becomes the trial's outcome and does not end the worker, except a CUDA error, after which the device is
unreliable, and the death of workers that share a trial: Ray Tune then resumes the trial in a new worker.
"""

from __future__ import annotations

import json
import traceback
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from ray import tune

from dml.sweep.execution.rendezvous import RankError, TrialConfig, WorkersDied
from dml.sweep.execution.trial_run import TrialRun, failed, now

if TYPE_CHECKING:
    from dml.sweep.execution.ranks import Ranks


class TrialWorker(tune.Trainable):
    """Runs one trial after another. Each `train()` advances a trial to its next evaluation."""

    _ranks: Ranks | None = None

    def setup(self, config: dict[str, Any]) -> None:
        """`config` has the fields of a `TrialConfig`, `workers`, and what each of several takes (`worker`)."""
        self._config = TrialConfig(**{field.name: config[field.name] for field in fields(TrialConfig)})
        self._run: TrialRun | Ranks
        if config["workers"] == 1:
            self._run = TrialRun(self._config)
        else:
            from dml.sweep.execution.ranks import Ranks  # imports Ray Train

            self._ranks = self._ranks or Ranks(config["workers"], config["worker"])
            self._run = self._ranks.run(self._config)
        self._started = now()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._run.close()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Advance the trial. `point` is [step, scores] or empty, `outcome` the `Outcome` or empty, both as JSON."""
        try:
            point, outcome = self._run.advance()
        except WorkersDied:
            self.cleanup()
            raise
        except Exception as error:
            text = error.text if isinstance(error, RankError) else traceback.format_exc()
            try:
                if "CUDA error" in text:
                    raise
                point, outcome = None, failed(self._config, text, getattr(error, "errno", None) or 0, self._started)
            finally:
                self.cleanup()  # what was lasting is stored before the trial is unlocked
        if outcome is not None:
            self._run.close()
        return {
            "point": "" if point is None else json.dumps(point),
            "outcome": "" if outcome is None else json.dumps(asdict(outcome)),
            "done": outcome is not None,
        }

    def cleanup(self) -> None:
        self._run.close()
        if self._ranks is not None:
            self._ranks.end()
            self._ranks = None

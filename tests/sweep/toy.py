"""A trainer that costs nothing and does what its settings say, for tests of the sweep itself."""

import json
import os
import signal
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dml.files import write_text
from dml.seeding import derive
from dml.types import EvaluationPoint, TrialResult, TrialSpec


class TrainingError(RuntimeError):
    """A failure that would repeat."""


class Toy:
    """Counts to `training.steps`, with a score that depends on its settings and, through its state, on every step."""

    def __init__(self, spec: TrialSpec, data_root: Path, folder: Path, device: str = "cpu"):
        self._spec, self._folder = spec, Path(folder)
        self._data_root = Path(data_root)
        self._orders: dict[str, Any] = json.loads((self._data_root / "toy.json").read_text())
        self._path = self._folder / "checkpoint" / "state.json"
        fresh = {"step": 0, "state": derive(spec.seed, json.dumps(asdict(spec.loss), sort_keys=True)), "curve": []}
        self._state = json.loads(self._path.read_text()) if self._path.is_file() else fresh
        self._log("begin" if not self._state["step"] else f"resume {self._state['step']}")

    @property
    def finished(self) -> bool:
        return self._state["step"] >= self._spec.training.total_steps and bool(self._state["curve"])

    def advance(self) -> EvaluationPoint:
        every = self._spec.evaluation.every or self._spec.training.total_steps
        if not self._state["curve"] and (self._spec.evaluation.at_start or not self._spec.training.total_steps):
            return self._evaluated()
        while True:
            time.sleep(self._orders.get("seconds", 0.0))
            self._state["state"] = derive(self._state["state"], "step")
            self._state["step"] += 1
            self._misbehave()
            if self._state["step"] % every == 0 or self._state["step"] >= self._spec.training.total_steps:
                return self._evaluated()
            if self._orders.get("checkpoint_each_step"):
                write_text(self._path, json.dumps(self._state))

    def result(self) -> TrialResult:
        curve = [EvaluationPoint(step, scores) for step, scores in self._state["curve"]]
        return TrialResult(curve[-1].scores, curve, {"state": float(self._state["state"] % 2**32)}, 1.0)

    def discard_checkpoint(self) -> None:
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        self._log("close")
        if self._orders.get("die_closing") == self._spec.loss.name:
            os.kill(os.getpid(), signal.SIGKILL)

    def _evaluated(self) -> EvaluationPoint:
        self._state["curve"].append([self._state["step"], self._scores()])
        write_text(self._path, json.dumps(self._state))
        return EvaluationPoint(*self._state["curve"][-1])

    def _scores(self) -> dict[str, float]:
        margin = self._spec.loss.settings.get("margin", 0.2)
        noise = (self._state["state"] % 1000) / 1e5
        share = self._state["step"] / self._spec.training.steps
        peak = self._orders.get("peak", 1.0)  # the share of the steps after which scores fall
        value = (1 - (margin - 0.3) ** 2) * (peak - abs(share - peak)) + noise
        name = "validation" if self._spec.phase == "tune" else "test"
        return {f"{name}/fine/recall@1": value, f"{name}/fine/nmi+": value / 2}

    def _misbehave(self) -> None:
        order = self._orders.get("orders", {}).get(self._spec.loss.name)
        if order == "raise":
            raise KeyError("a part that is broken")
        if order == "nan":
            raise TrainingError("the loss became NaN")
        if order == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if order == "full" and not (self._data_root / "freed").exists():
            raise OSError(28, os.strerror(28), str(self._path))

    def _log(self, text: str) -> None:
        name = f"{self._spec.loss.name}-{self._spec.phase}-{self._folder.name[:8]}"
        with open(self._data_root / "steps.log", "a") as file:
            file.write(f"{os.getpid()} {name} {text}\n")


def describe(dataset: str, noise: str, rate: float, seed: int, phase: str) -> dict[str, str]:
    """Digests of data that does not exist."""
    return {"packed": f"{dataset}-packed", "split": "split", "labels": f"{noise}-{rate}-{seed}-{phase}"}

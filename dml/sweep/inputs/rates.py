"""The share of wrong labels that a filter assumes with `rate: estimated`: the audit's first guess (`dml.audit.guess`).

It reads the observed training labels of a seed and phase and what the trial starts from, no clean label. It is rounded
to percents, so that machines agree on a trial's key, which contains the number only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dml import files
from dml.config.parts import ESTIMATED
from dml.sweep.inputs.vectors import inputs, name_of
from dml.training.closed_form import taking_part
from dml.training.frozen.opening import open_trial
from dml.training.frozen.recipe import of_whole_backbone
from dml.types import TrialSpec

if TYPE_CHECKING:
    from dml.audit import Rate

version = 2
LARGEST = 0.9  # a filter needs some images


class Rates:
    """Estimates, each made once and kept in the store."""

    def __init__(self, data_root: Path, store: Path, report: Callable[[str], None] = print):
        self._data_root, self._folder, self._report = data_root, store / "rates", report

    def stored(self, spec: TrialSpec) -> float | str:
        """The estimate, if it was made before; else `estimated`, the key of no trial that ran."""
        estimate = files.read_json(self._path(spec, name_of(spec, self._data_root)))
        return ESTIMATED if estimate is None else float(estimate["rate"])

    def __call__(self, spec: TrialSpec) -> float:
        """The estimate for a trial. Raises ValueError if its labels cannot be audited."""
        name, data = name_of(spec, self._data_root), spec.dataset
        path = self._path(spec, name)
        estimate = files.read_json(path)
        if estimate is None:
            rate = self._guess(spec, name)
            estimate = {"rate": round(min(rate.guess, LARGEST), 2), "warning": rate.warning}
            files.write_json(path, estimate)
            doubt = f"; {rate.warning}" if rate.warning else ""
            self._report(
                f"{data.name}, {spec.noise.model}, seed {spec.seed}, {spec.data_phase}: {estimate['rate']:.0%} of the "
                f"observed labels look wrong ({name}){doubt}"
            )
        return float(estimate["rate"])

    def _path(self, spec: TrialSpec, name: str) -> Path:
        data = spec.dataset
        return self._folder / f"{data.packed[:16]}-{data.split}-{data.labels}-{name}-{version}.json"

    def _guess(self, spec: TrialSpec, name: str) -> Rate:
        from dml import audit  # imports scipy, which `dml check` does not need

        data = open_trial(replace(spec, training=of_whole_backbone(spec.training)), self._data_root)
        part = taking_part(data.observed)
        order = np.argsort(data.rows[part], kind="stable")
        return audit.guess(inputs(name, data, data.rows[part][order])[:, 0], data.observed[part][order])

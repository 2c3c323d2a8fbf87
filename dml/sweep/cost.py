"""What a study costs before it runs: cells, trials, hours, disk.

Seconds are those of similar trials in the store (the same images, network and batch). Where there are none, a few
steps on random images are timed. Trials that the store or a snapshot already has cost nothing; they are found only
after the study's data stages ran.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from dml import models
from dml.config import Study
from dml.config.for_use import comparable, for_use
from dml.counting import counted
from dml.data import splits
from dml.sweep.execution import cluster
from dml.sweep.execution.cluster import fits
from dml.sweep.inputs.rates import Rates
from dml.sweep.inputs.vectors import bytes_to_store, stored_trainings
from dml.sweep.plan.keys import canonical
from dml.sweep.plan.plan import Plan
from dml.sweep.plan.space import tuning_trials
from dml.sweep.retention import SMALL
from dml.sweep.store.init_from import InitFromFinder
from dml.sweep.store.trials import Outcome, TrialStore
from dml.sweep.timing import bytes_to_pack, images_of, spec_of, trial_seconds
from dml.training.data import describe
from dml.training.frozen.opening import find_features
from dml.training.frozen.recipe import describe_model
from dml.types import TUNING_SEED

LONG = 3600.0  # seconds above which a study is called long
AROUND = 60.0  # seconds of a run beside its trials (docs/benchmarks/commands.md)


@dataclass(frozen=True)
class Estimate:
    """What a study costs on this machine."""

    study: str
    cells: int
    tuning: int  # trials that tune
    confirming: int  # trials that confirm
    stored: int  # of these, already in the store or a snapshot
    seconds: float | None  # until the others are done; None: not known here
    slots: int  # trials at the same time
    trial_seconds: float | None  # of an average trial
    basis: str  # where the seconds are from
    bytes: int  # of packed images, features and kept models that are yet to be written, as far as known
    models: int  # that are kept
    features: int = 0  # bytes of stored features and activations among them

    @property
    def trials(self) -> int:
        """All trials."""
        return self.tuning + self.confirming

    @property
    def long(self) -> bool:
        """Whether it takes more than an hour."""
        return self.seconds is not None and self.seconds > LONG

    def lines(self) -> list[str]:
        """The estimate as text."""
        left = self.trials - self.stored
        stored = f", {self.stored} of them done already" if self.stored else ""
        cells, trials = counted(self.cells, "cell"), counted(self.trials, "trial")
        work = f"{cells}, {trials} ({self.tuning} to tune, {self.confirming} to confirm){stored}"
        if not left:
            return [f"{self.study}: {work}; nothing to train"]
        features = f", {size_text(self.features)} of stored features or activations" if self.features else ""
        size, models = size_text(self.bytes), f"({counted(self.models, 'model')}{features})"
        if self.seconds is None:
            return [f"{self.study}: {work}; time not known: {self.basis}; {size} on disk {models}"]
        at_once = f", {min(self.slots, left)} at the same time" if min(self.slots, left) > 1 else ""
        each = duration_text(self.trial_seconds or 0.0)
        lines = [
            f"{self.study}: {work}; a cell is one method at one level of wrong labels",
            f"  time: about {duration_text(self.seconds + AROUND)}, {duration_text(AROUND)} of them for stages, "
            f"Ray and report ({counted(left, 'trial')} of {each}{at_once}; {self.basis})",
            f"  disk: about {size} {models}",
        ]
        if self.long:
            lines.append(
                "  This is more than an hour. Fewer seeds, trials per cell or steps shorten it; a cluster too."
            )
        return lines


def duration_text(seconds: float) -> str:
    """Seconds as `2.5 s`, `40 s`, `12 min`, `3.5 h` or `4 days`."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"


def size_text(size: float) -> str:
    """Bytes as `3.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def estimate(
    study: Study,
    root: Path,
    store: Path,
    results: Path,
    snapshot_outcomes: Mapping[str, Outcome] | None = None,
    seconds: float = 3.0,
) -> Estimate:
    """Estimate what a study costs on this machine.

    Parameters
    ----------
    root : of the outputs of its data stages (`data/<study>`); it need not exist yet.
    store, results : of all studies.
    snapshot_outcomes : outcomes that count as stored, see `TrialStore`.
    seconds : to spend on timing, if the store has no similar trials.
    """
    cells = study.cells()
    seeds = len(study.seeds) * study.splits
    tuning = [tuning_trials(study, cell) * study.splits for cell in cells]
    trials = sum(tuning) + len(cells) * seeds
    stored = _stored(study, root, store, results, snapshot_outcomes) if is_prepared(study, root) else 0
    manifests = {dataset.label: images_of(study, dataset.label, root, store) for dataset in study.datasets}
    found = [spec_of(study, cell, manifests[cell.dataset]) for cell in cells]
    costs, basis = trial_seconds(study, found, manifests, store, seconds) if stored < trials else ([], "")
    slots = _slots(study)
    mean = total = None
    if costs:
        mean = sum(cost * (tune + seeds) for cost, tune in zip(costs, tuning, strict=True)) / trials
        total = mean * (trials - stored) / min(slots, trials - stored)
    kept, kept_bytes = kept_models(study, manifests)
    features = sum(bytes_to_store(study, name, manifest, store / "features") for name, manifest in manifests.items())
    return Estimate(
        study.name,
        cells=len(cells),
        tuning=sum(tuning),
        confirming=len(cells) * seeds,
        stored=stored,
        seconds=total,
        slots=slots,
        trial_seconds=mean,
        basis=basis,
        bytes=kept_bytes + sum(map(bytes_to_pack, manifests.values())) + features,
        models=kept,
        features=features,
    )


def is_prepared(study: Study, root: Path) -> bool:
    """Whether the data stages have written all labels and stored features that the study's trials train on.

    Parameters
    ----------
    root : of the outputs of the data stages (`data/<study>`).
    """
    asked = [
        (splits.data_name(cell.dataset, split), cell.noise, cell.rate, seed, phase)
        for cell in study.cells()
        for split in range(study.splits)
        for phase, seeds in (("confirm", study.seeds), ("tune", [TUNING_SEED]))
        for seed in seeds
    ]
    try:
        for one in dict.fromkeys(asked):
            describe(root, *one)
        for dataset in study.datasets:
            for training in stored_trainings(study, dataset.label):
                find_features(root, dataset.label, training)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _slots(study: Study) -> int:
    """How many trials run at the same time on this machine."""
    resources, here = study.resources, {"CPU": cluster.cpus(), "GPU": torch.cuda.device_count()}
    fit = fits(resources, study.training.workers, [here])
    return max(1, min(fit, resources.concurrent or fit))


def _stored(
    study: Study, root: Path, store: Path, results: Path, snapshot_outcomes: Mapping[str, Outcome] | None
) -> int:
    """The trials that are stored. A search's later rounds count once the earlier ones are done."""
    ended = 0

    def count(*_: Any) -> None:
        nonlocal ended
        ended += 1

    trials = TrialStore(store, study.resources.storage, snapshot_outcomes).look()
    known = Rates(root, store).known
    Plan(study, trials, lambda *asked: describe(root, *asked), InitFromFinder(results, store), known).start(count)
    return ended


def kept_models(study: Study, manifests: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """How many models a study will keep, and their bytes (`dml.sweep.retention`), without memory for any weights.

    Parameters
    ----------
    manifests : `height`, `width` and `channels` of each dataset's images, as of `dml.sweep.timing.images_of`.

    Raises
    ------
    ValueError : a network cannot be built for these images, or a file of its weights is missing.
    """
    cells = study.cells()
    sizes = []
    for cell in cells:
        training = spec_of(study, cell, manifests[cell.dataset]).training
        network = describe_model(training, manifests[cell.dataset])["network"]
        sizes.append(_bytes(canonical(models.find(training.backbone).without_weights(network))))
    if sum(sizes) * study.splits <= SMALL:
        return len(cells) * study.splits, sum(sizes) * study.splits
    groups = for_use(cells) or list(comparable(cells).values())
    return len(groups), len(groups) * max(sizes)


@cache
def _bytes(network: str) -> int:
    """The bytes of a network's weights."""
    with torch.device("meta"):
        model = models.build(**json.loads(network))
    return sum(value.numel() * value.element_size() for value in model.state_dict().values())

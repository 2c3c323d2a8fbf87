"""The data stages' outputs for scikit-learn's digits, made once, and specs of tiny trials on them."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from stages import prepare

from dml.data.packing import Packed
from dml.training import data as trial_data
from dml.training.loop import Training
from dml.types import BatchSpec, DatasetSpec, EvaluationSpec, LossSpec, MinerSpec, NoiseSpec, TrainingSpec, TrialSpec

sys.path.insert(0, str(Path(__file__).parent))  # for helpers

SMALL = TrainingSpec(
    backbone_settings={"width": 4},
    embedding_size=8,
    steps=12,
    batch=BatchSpec(classes=2, per_class=8),
    schedule="cosine",
)


@pytest.fixture(scope="session")
def data_root(tmp_path_factory) -> Path:
    """The outputs of download, pack, split and corrupt for digits: uniform noise 0 and 0.3, seeds 0 and 1."""
    root = tmp_path_factory.mktemp("digits")
    prepare(root, phases=("tune", "confirm"), rates=(0.0, 0.3))
    return root


@pytest.fixture(scope="session")
def packed(data_root) -> Packed:
    return trial_data.open_packed_of(data_root, "digits")


@pytest.fixture
def make_spec(data_root) -> Callable[..., TrialSpec]:
    """A function that makes a trial's spec; keywords are fields of `TrainingSpec`, `evaluation` those of its own."""

    def make(
        loss: str = "triplet",
        positives: str | None = "easy",
        negatives: str = "semihard_random",
        *,
        phase: str = "confirm",
        seed: int = 0,
        rate: float = 0.3,
        loss_settings: dict[str, Any] | None = None,
        miner_settings: dict[str, Any] | None = None,
        evaluation: dict[str, Any] | None = None,
        **training: Any,
    ) -> TrialSpec:
        digests = trial_data.describe(data_root, "digits", "uniform", rate, seed, phase)
        wanted = {"metrics": ("recall@1", "nmi"), "every": 4, "sets": ("test", "seen"), **(evaluation or {})}
        return TrialSpec(
            phase=phase,
            seed=seed,
            dataset=DatasetSpec("digits", train_on="coarse", **digests),
            noise=NoiseSpec("uniform", rate),
            loss=LossSpec(loss, loss_settings or {}),
            miner=MinerSpec(positives, negatives, settings=miner_settings or {}) if positives else None,
            training=TrainingSpec(**{**vars(SMALL), **training}),
            evaluation=EvaluationSpec(**wanted),
        )

    return make


@pytest.fixture
def finish() -> Callable[[Training], Training]:
    """A function that trains a trial to its end."""

    def run(training: Training) -> Training:
        while not training.finished:
            training.advance()
        training.close()
        return training

    return run


@pytest.fixture
def own_parts(monkeypatch) -> ModuleType:
    """`training_parts.py`, whose parts are then available by dotted path, in child processes too."""
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    return importlib.import_module("training_parts")

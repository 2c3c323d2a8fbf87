"""The numbers of the first steps for every optimiser and schedule, and the defaults of a trial's settings."""

from dataclasses import MISSING, fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from dml.data.packing import Packed
from dml.training import loop, optimizers
from dml.training.data import TrialData
from dml.training.optimizers import OPTIMIZERS, SCHEDULES
from dml.types import BatchSpec, DatasetSpec, EvaluationSpec, LossSpec, NoiseSpec, TrainingSpec, TrialSpec

pytestmark = pytest.mark.slow

CLASSES, PER_CLASS, SIDE = 10, 8, 4
SPEC = TrialSpec(
    phase="confirm",
    seed=0,
    dataset=DatasetSpec("made", packed="", split="", labels=""),
    noise=NoiseSpec("uniform", 0.0),
    loss=LossSpec("training_parts.Loss"),
    evaluation=EvaluationSpec(metrics=("recall@1",), every=1, sets=("test", "seen")),
)
TRAINING = {
    "backbone": "training_parts.Backbone",
    "backbone_settings": {"dropout": 0.2},
    "embedding_size": 8,
    "steps": 5,
    "batch": BatchSpec("training_parts.Sampler", classes=4, per_class=4),
    "augment": "training_parts.Augment",
}


def made_data() -> TrialData:
    """Ten classes of eight images: a pattern for each class, disturbed. The first five classes are trained."""
    classes = np.repeat(np.arange(CLASSES), PER_CLASS)
    pattern = np.outer(classes + 1, np.arange(SIDE * SIDE) * 29 + 11)
    disturbed = pattern + np.outer(np.arange(len(classes)) * 7, np.arange(SIDE * SIDE) % 5)
    images = (disturbed % 256).astype(np.uint8).reshape(-1, SIDE, SIDE, 1)
    index = pd.DataFrame({"fine": classes, "coarse": classes})
    manifest = {"height": SIDE, "width": SIDE, "channels": 1}
    trained = (classes < 5) & (np.arange(len(classes)) % 2 == 0)
    roles = np.where(classes >= 5, "test", np.where(trained, "train", "seen"))
    split = pd.DataFrame({"index": np.arange(len(classes)), "final": roles})
    rows = np.flatnonzero(trained)
    return TrialData(Packed(Path(), images, index, manifest), rows, classes[rows], classes[rows], 5, split)


def first_steps(own_parts, monkeypatch, folder, **training):
    """Numbers of a trial of five steps, evaluated after each."""
    monkeypatch.setattr(loop, "open_trial", lambda spec, data_root: made_data())
    monkeypatch.setattr(loop, "build_miner", lambda spec, loss: own_parts.Miner())
    spec = TrialSpec(**{**vars(SPEC), "training": TrainingSpec(**TRAINING, **training)})
    trial = loop.Training(spec, Path(), folder)
    losses, total = [], 0.0
    while not trial.finished:
        trial.advance()
        losses.append(float(trial.diagnostics.sums["loss"]) - total)
        total += losses[-1]
    result = trial.result()
    streams = {name: torch.rand(2, generator=getattr(trial._streams, name)) for name in ("miner", "augment")}
    return {
        "losses": losses,
        "scores": [point.scores for point in result.curve],
        "diagnostics": {name: result.diagnostics[name] for name in ("loss", "active_share", "spread")},
        "embedding": trial._evaluator.embed(np.arange(2)),
        "proxy": trial.loss.proxies[0],
        "streams": streams,
    }


def defaults() -> dict[str, object]:
    """The defaults of a trial's settings, by section."""
    sections = {"training": TrainingSpec, "training.batch": BatchSpec, "evaluation": EvaluationSpec}
    return {
        f"{section}.{field.name}": field.default_factory() if field.default is MISSING else field.default
        for section, spec in sections.items()
        for field in fields(spec)
        if field.name != "batch"
    }


def test_the_first_steps_and_the_defaults(own_parts, monkeypatch, golden, tmp_path):
    values = first_steps(own_parts, monkeypatch, tmp_path)
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in defaults().items()}
    golden.check("training", "loop", loop.Training, values, defaults=plain, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_first_steps_of_every_optimizer_and_schedule(own_parts, monkeypatch, golden, tmp_path, optimizer, schedule):
    values = first_steps(own_parts, monkeypatch, tmp_path, optimizer=optimizer, schedule=schedule)
    name = f"{optimizer}-{schedule}"
    golden.check("training", name, loop.Training, {"losses": values["losses"]}, defaults={}, rtol=1e-4, atol=1e-6)


def test_the_first_steps_with_weight_decay(own_parts, monkeypatch, golden, tmp_path):
    values = first_steps(own_parts, monkeypatch, tmp_path, optimizer="adamw", learning_rate=0.1, weight_decay=0.1)
    golden.check("training", "decay", optimizers, {"losses": values["losses"]}, defaults={}, rtol=1e-4, atol=1e-6)

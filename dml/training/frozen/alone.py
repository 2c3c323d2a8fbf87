"""How well the features that frozen trials start from do without a head."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from dml.data.packing import of_vectors
from dml.models.identity import Identity
from dml.training.data import open_packed_of
from dml.training.evaluator import Evaluator
from dml.training.frozen.opening import open_trial
from dml.training.frozen.recipe import features_id, recipe
from dml.training.frozen.rows import FeatureRows
from dml.types import TrialSpec

NOT_HELD_OUT = ("train", "validation")


def name_of(spec: TrialSpec, data_root: Path) -> str:
    """The name of the features that a frozen trial starts from; `vectors` of a dataset that consists of them."""
    manifest = open_packed_of(data_root, spec.dataset.name).manifest
    return "vectors" if of_vectors(manifest) else features_id(recipe(spec.training, manifest))


def scores_alone(spec: TrialSpec, data_root: Path) -> dict[str, float]:
    """Scores of a frozen trial's features themselves, by `<set>/<level>/<metric>`.

    Taken as those of its embeddings are, but on the CPU, and only on the sets that the trial neither trains on nor is
    chosen by. Empty if it is evaluated on no such set.

    Raises
    ------
    FileNotFoundError : a stage's output is missing; the message names the stage to run.
    """
    sets = tuple(name for name in spec.evaluation.sets if name not in NOT_HELD_OUT)
    if not sets:
        return {}
    asked = replace(spec, phase="confirm", evaluation=replace(spec.evaluation, sets=sets, keep_per_query=False))
    data, device = open_trial(asked, data_root), torch.device("cpu")
    return Evaluator(asked, data, Identity(), FeatureRows(), device).scores(0)  # type: ignore[arg-type]

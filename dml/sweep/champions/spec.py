"""What a champion trains: the settings of a study's winner, without a held-out image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from dml.config import Study
from dml.config.parts import ESTIMATED
from dml.sweep.champions.data import NO_NOISE
from dml.sweep.plan import specs
from dml.sweep.plan.space import space_of
from dml.types import Cell, EvaluationSpec, NoiseSpec, TrialSpec

CHECKPOINTS = 20  # about, beside those that are due after some time


def champion_spec(
    study: Study,
    cell: Cell,
    settings: Mapping[str, Any],
    rate: float | None,
    digests: Mapping[str, str],
    find_init_from: specs.FindInitFrom | None = None,
) -> TrialSpec:
    """The spec of a trial with the cell's settings on data with labels as they are.

    A filter assumes the noise rate `rate`, unless the study sets or searches what it assumes; of an unknown rate the
    spec says `estimated`, as a trial's (`specs.with_rate`). Nothing is evaluated.

    Parameters
    ----------
    settings : of a confirmed trial of the cell, by dotted names; of these, the searched ones and the step at which
        training stops are taken.
    rate : the share of the labels that are wrong; None: nobody knows it.
    digests : of the data.

    Raises
    ------
    ValueError : the study asks for a GPU that this machine lacks, or a file is missing.
    """
    searched = {name: settings[name] for name in (*space_of(study, cell), specs.STOP_AT) if name in settings}
    seed = study.seeds[0]
    spec = specs.build(study, cell, "confirm", seed, searched, digests, find_init_from)
    assumed: Any = ESTIMATED if rate is None else rate
    spec = replace(spec, filter=specs.filter_of(replace(cell, rate=assumed), searched))
    spec = specs.with_rate(spec, lambda _: assumed)
    if spec.training.device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"study {study.name!r} trains on a GPU (section resources), and torch finds none on this machine"
        )
    return replace(
        spec,
        noise=NoiseSpec(*NO_NOISE),
        evaluation=EvaluationSpec(
            every=max(1, spec.training.total_steps // CHECKPOINTS), sets=(), views=spec.evaluation.views
        ),
        protocol=TrialSpec.protocol,
    )

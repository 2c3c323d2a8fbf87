"""What runs a trial: `training`, or any other `dml.protocols.Trainer` by its dotted path."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from dml.protocols import Trainer, TrainerFactory
from dml.training.collectives import rank_and_size
from dml.training.loop import Training
from dml.training.resuming import UnusableCheckpoint
from dml.types import TrialSpec

TRAINER = "dml.sweep.execution.trainers.training"


def find_trainer(path: str) -> TrainerFactory:
    """The trainer at a dotted path.

    Raises
    ------
    ValueError : the path cannot be imported.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"trainer {path!r} cannot be imported: {error}") from error


def training(spec: TrialSpec, data_root: Path, folder: Path, device: str) -> Trainer:
    """The training loop of `dml.training`, in this process or as this process's part of a trial that several share.

    A checkpoint that cannot be used, such as one of an earlier version of the code, is moved aside, and the trial
    starts anew.
    """
    try:
        return Training(spec, data_root, folder, device)
    except UnusableCheckpoint as error:
        rank, size = rank_and_size()
        if rank == 0:
            print(f"{error}; the trial starts anew", file=sys.stderr)
            error.path.replace(error.path.with_suffix(".unusable"))
        if size > 1:
            raise  # the processes have exchanged messages about the networks that they built: all of them start again
        return Training(spec, data_root, folder, device)

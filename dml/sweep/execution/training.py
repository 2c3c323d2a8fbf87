"""What runs a trial by default: the training loop, with a checkpoint that cannot be used moved aside."""

from __future__ import annotations

import sys
from pathlib import Path

from dml.protocols import Trainer
from dml.training.loop import Training
from dml.training.process import UnusableCheckpoint, rank_and_size
from dml.types import TrialSpec


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

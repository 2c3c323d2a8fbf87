"""What runs a trial: `training`, or any other `dml.protocols.Trainer` by its dotted path."""

from __future__ import annotations

import importlib

from dml.protocols import TrainerFactory

TRAINER = "dml.sweep.execution.training.training"


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

"""Checkpoint files. They are written atomically, and loading one cannot run code that it contains.

A checkpoint contains only containers, numbers, strings and tensors; `torch.load(weights_only=True)` refuses the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dml.files import replacing


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Save a nested state of tensors and plain values atomically."""
    with replacing(path) as temporary, open(temporary, "wb") as file:  # torch's own writer hides that a disk is full
        torch.save(dict(state), file)


def load(path: Path) -> dict[str, Any]:
    """Load the state that `save` wrote, on the CPU.

    Raises
    ------
    ValueError : the file is damaged, or contains something else than tensors and plain values.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path}: not a checkpoint that can be loaded safely: {error}") from error

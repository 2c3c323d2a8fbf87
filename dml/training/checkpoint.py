"""Checkpoints: one file, written whole or not at all, and loaded without running any code that it could carry.

A checkpoint holds containers, numbers, strings and tensors only; `torch.load(weights_only=True)` refuses the rest.
Weights that outlive a trial are safetensors beside a JSON description.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place when the block ends without an error.

    A reader, or a crash at any moment, finds the old file or the new one, never a part.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Save a nested state of tensors and plain values, atomically."""
    with replacing(path) as temporary:
        torch.save(dict(state), temporary)


def load(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Load what `save` wrote. Anything but tensors and plain values is refused.

    Raises
    ------
    ValueError : the file is not a checkpoint that can be loaded safely.
    """
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise ValueError(f"{path}: not a checkpoint that can be loaded safely: {error}") from error


def save_model(folder: Path, model: nn.Module, description: Mapping[str, Any]) -> None:
    """Save weights as `model.safetensors` and what rebuilds the network as `model.json`."""
    tensors: dict[str, Tensor] = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    with replacing(folder / "model.safetensors") as temporary:
        save_file(tensors, temporary)
    with replacing(folder / "model.json") as temporary:
        temporary.write_text(json.dumps(dict(description), indent=2, sort_keys=True), encoding="utf-8")


def load_model(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights and the description that `save_model` wrote."""
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return load_file(folder / "model.safetensors"), description

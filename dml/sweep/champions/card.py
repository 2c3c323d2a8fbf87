"""The card of a champion: everything that rebuilds it, and what is known of its quality, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dml.config import Study
from dml.data import augment as augmentations
from dml.files import read_json, sha256, write_json
from dml.sweep.champions.data import AllImages
from dml.sweep.plan import keys, spec_json
from dml.sweep.progress.results import git_commit, versions
from dml.training.model_files import WEIGHTS
from dml.types import TrialSpec

CARD = "champion.json"
PACKAGES = ("torch", "torchvision", "numpy", "safetensors", "timm")


def write_card(
    folder: Path,
    spec: TrialSpec,
    study: Study,
    recipe: Mapping[str, Any],
    images: AllImages,
    key: str,
    seconds: float,
) -> dict[str, Any]:
    """Write the card of a model beside its weights, and return it.

    Parameters
    ----------
    folder : of the model, with `model.json`.
    study, recipe : what the settings are from, and what the report says of them.
    seconds : of training.
    """
    described = read_json(folder / "model.json")
    section = study.dataset(spec.dataset.name)
    earlier = read_json(folder / CARD) or {}
    card = {
        "study": study.name,
        "key": key,
        "made": earlier.get("made", datetime.now(UTC).isoformat(timespec="seconds")),
        "weights_sha256": sha256(folder / WEIGHTS),
        "network": described["network"],
        "preprocessing": preprocessing(described),
        "normalize": described["normalize"],
        "views": described.get("views", "one"),
        "dataset": {
            "name": spec.dataset.name,
            "source": section.name,
            "options": section.settings,
            "resize": section.packing["resize"],
            "train_on": section.train_on,
            "images_digest": spec.dataset.packed,
            "labels": images.labels,
            "labels_digest": spec.dataset.labels,
            "labels_sha256": images.labels_sha256,
            **images.counts,
        },
        "training": {"spec": spec_json.plain(spec), "seconds": round(seconds, 1)},
        "recipe": recipe,
        "scores": "The recipe's: of networks with these settings on classes or images that they did not see. "
        "The champion was trained on all images, so it has none of its own.",
        "versions": {"parts": keys.versions(spec), "packages": versions(PACKAGES), "git_commit": git_commit()},
    }
    write_json(folder / CARD, card)
    return card


def preprocessing(described: dict[str, Any]) -> dict[str, Any]:
    """What happens to an image before the network: its size, then (pixel / 255 - mean) / std for each channel.

    Mean and standard deviation are measured on a black and a white image, so that they are right for any augmentation.

    Parameters
    ----------
    described : the content of a model's `model.json`.
    """
    shape = described["image_shape"]
    if described["augment"] is None:
        return {"input": "float32 vectors", "shape": shape}
    augment = augmentations.build(**described["augment"])
    own = described.get("resize", {})
    filtered = own.get("interpolation", "bilinear")
    cropped = f", from the central square of {own['crop']:g} of the shorter side" if "crop" in own else ""
    height, width, channels = shape
    flat = [torch.full((1, channels, height, width), value, dtype=torch.uint8) for value in (0, 255)]
    black, white = (augment(image, training=False).double() for image in flat)
    std = 1 / (white - black).mean(dim=(0, 2, 3))
    mean = 0 - black.mean(dim=(0, 2, 3)) * std
    return {
        "input": f"uint8 images, resized to `shape` (height, width, channels) by Pillow's {filtered} filter{cropped}",
        "shape": shape,
        "network_shape": list(black.shape[1:]),
        "mean": np.round(mean.numpy(), 6).tolist(),
        "std": np.round(std.numpy(), 6).tolist(),
        "augment": described["augment"],
    }

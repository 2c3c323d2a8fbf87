"""A trained network on disk: weights as safetensors, and a JSON description that rebuilds the network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from dml import models
from dml.data import augment as augmentations
from dml.evaluation import embed_images
from dml.files import replacing, write_text
from dml.protocols import Augmentation
from dml.training.frozen.rows import FeatureRows
from dml.types import Views

WEIGHTS = "model.safetensors"


def save_model(folder: Path, model: nn.Module, description: Mapping[str, Any]) -> None:
    """Save weights as `model.safetensors` and the description as `model.json`."""
    tensors: dict[str, Tensor] = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    with replacing(folder / WEIGHTS) as temporary:
        save_file(tensors, temporary)
    write_text(folder / "model.json", json.dumps(dict(description), indent=2, sort_keys=True))


def load_model(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights and the description that `save_model` wrote."""
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return load_file(folder / WEIGHTS), description


class TrainedEmbedder:
    """A trained network, applied to images, or to vectors if it was trained on vectors.

    Parameters
    ----------
    folder : the `model/` folder of a finished trial.

    Attributes
    ----------
    network : in evaluation mode, on the CPU.
    augment : the preprocessing.
    normalize : whether embeddings are L2-normalised.
    views : of an image that an embedding joins, as of `dml.evaluation.embed`.
    shape : (H, W, C) of the images, or (D',) of the vectors.
    """

    def __init__(self, folder: Path):
        weights, description = load_model(Path(folder))
        network = description["network"]
        offline = models.find(network["backbone"]).without_weights(network)
        self.network = models.build(**offline)
        self.network.load_state_dict(weights)
        self.network.eval()
        vectors = description["augment"] is None
        self.augment: Augmentation = FeatureRows() if vectors else augmentations.build(**description["augment"])
        self.normalize = description["normalize"]
        self.views: Views = description.get("views", "one")
        self.shape = tuple(description["image_shape"])

    def __call__(self, images: np.ndarray, batch: int | None = None) -> np.ndarray:
        """Embed images.

        Parameters
        ----------
        images : uint8 (N, H, W, C), or (N, H, W) for a network of grey images; vectors are float (N, D).
        batch : images embedded at once; None: as many as are fast.

        Returns
        -------
        float32 (N, D), L2-normalised if the network was trained so, or if embeddings join views.

        Raises
        ------
        ValueError : the images have another type or shape than those of the training.
        """
        images = np.asarray(images)
        if len(self.shape) == 1:
            return self._embed(_as_images(images, self.shape[0]), batch)
        if images.ndim == 3 and self.shape[2] == 1:
            images = images[..., None]
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != self.shape:
            raise ValueError(
                f"expected uint8 images of shape (N, {', '.join(map(str, self.shape))}), "
                f"got {images.dtype} of shape {images.shape}"
            )
        return self._embed(images, batch)

    def _embed(self, images: np.ndarray, batch: int | None) -> np.ndarray:
        if not len(images):
            return np.empty((0, self.network.embedding_size), np.float32)
        embedded = embed_images(self.network, images, augment=self.augment, batch=batch, views=self.views)
        return (nn.functional.normalize(embedded) if self.normalize else embedded).numpy()


def _as_images(vectors: np.ndarray, width: int) -> np.ndarray:
    """Vectors (N, D) as images of one pixel, float (N, 1, 1, D)."""
    if not np.issubdtype(vectors.dtype, np.floating) or vectors.ndim != 2 or vectors.shape[1] != width:
        raise ValueError(f"expected float vectors of shape (N, {width}), got {vectors.dtype} of shape {vectors.shape}")
    return vectors.astype(np.float32, copy=False)[:, None, None, :]

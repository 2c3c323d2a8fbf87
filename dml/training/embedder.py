"""A trained network, loaded from what a finished trial left, applied to images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dml import models
from dml.data import augment as augmentations
from dml.evaluation import embed
from dml.training import checkpoint


class TrainedEmbedder:
    """images uint8 (N, H, W, C) or (N, H, W) -> embeddings float32 (N, D).

    Parameters
    ----------
    folder : a finished trial's `model/` folder.

    Raises
    ------
    ValueError : images of another type or shape than the network was trained on.
    """

    def __init__(self, folder: Path):
        weights, description = checkpoint.load_model(Path(folder))
        self._model = models.build(**{**description["network"], **_without_download(description["network"])})
        self._model.load_state_dict(weights)
        self._model.eval()
        self._augment = augmentations.build(**description["augment"])
        self._normalize = description["normalize"]
        self._shape = tuple(description["image_shape"])

    def __call__(self, images: np.ndarray, batch: int = 512) -> np.ndarray:
        images = np.asarray(images)
        if images.ndim == 3 and self._shape[2] == 1:
            images = images[..., None]
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != self._shape:
            raise ValueError(
                f"expected uint8 images of shape (N, {', '.join(map(str, self._shape))}), "
                f"got {images.dtype} of shape {images.shape}"
            )
        if not len(images):
            return np.empty((0, self._model.embedding_size), np.float32)
        parts = (np.array(images[start : start + batch]) for start in range(0, len(images), batch))  # may be mapped
        batches = (torch.from_numpy(part).permute(0, 3, 1, 2) for part in parts)
        with torch.inference_mode():
            embedded = embed(self._embed_batch, batches, len(images))
        return (torch.nn.functional.normalize(embedded) if self._normalize else embedded).numpy()

    def _embed_batch(self, images: Tensor) -> Tensor:
        return self._model(self._augment(images, training=False, generator=None))


def _without_download(network: dict) -> dict:
    """Settings that keep a backbone from fetching weights which are replaced at once."""
    return {"pretrained": False} if "pretrained" in network or network["backbone"] in ("torchvision", "timm") else {}

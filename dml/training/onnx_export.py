"""A trained model as an ONNX file, preprocessing included: images uint8 (N, H, W, C) -> embeddings float32 (N, D).

The file is checked with onnxruntime against the model itself, and not kept if they differ. It needs the extra `onnx`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim

from dml.discovery import installed
from dml.evaluation import of_views
from dml.files import replacing
from dml.seeding import numpy_generator
from dml.training.model_files import TrainedEmbedder

ONNX = "model.onnx"
PACKAGES = ("onnx", "onnxruntime", "onnxscript")  # of the extra
INPUT, OUTPUT = "images", "embeddings"
TOLERANCE = 1e-4  # of each number of an embedding; relative to the largest one if that is above 1
BATCHES = (1, 2, 7)  # that are checked


def check_extra() -> None:
    """Raise a ValueError unless the packages that export and check are installed."""
    missing = [name for name in PACKAGES if not installed(name)]
    if missing:
        raise ValueError(f"ONNX needs {', '.join(missing)}: pip install -c constraints.txt -e '.[onnx]'")


class Deployed(nn.Module):
    """What the file computes: the preprocessing, the network, L2 normalisation if the model was trained so, and the
    joined embedding of both views if they were evaluated."""

    def __init__(self, embedder: TrainedEmbedder):
        super().__init__()
        self.network, self._augment = embedder.network, embedder.augment
        self._normalize, self._images = embedder.normalize, len(embedder.shape) == 3
        self._embed = of_views(self._of_one, embedder.views)

    def forward(self, images: Tensor) -> Tensor:
        """uint8 (N, H, W, C), or vectors float32 (N, D')  -> float32 (N, D)."""
        pixels = images.permute(0, 3, 1, 2) if self._images else images[:, :, None, None]
        found = self._embed(pixels)
        return nn.functional.normalize(found) if self._normalize else found

    def _of_one(self, pixels: Tensor) -> Tensor:
        return self.network(self._augment(pixels, training=False, generator=None))


def export_onnx(folder: Path) -> Path:
    """Write `model.onnx` beside the weights of a trained model, with a batch size of any length.

    Parameters
    ----------
    folder : of the model.

    Raises
    ------
    ValueError : the extra is missing, the network has an operation that cannot be exported, or the file's embeddings
        differ from the model's by more than `TOLERANCE`.
    """
    check_extra()
    embedder, path = TrainedEmbedder(folder), Path(folder) / ONNX
    deployed = Deployed(embedder).eval()
    with replacing(path) as temporary:
        try:
            program = torch.onnx.export(
                deployed,
                (torch.from_numpy(example(embedder, max(BATCHES))),),
                dynamo=True,
                dynamic_shapes={INPUT: {0: Dim("batch")}},
                input_names=[INPUT],
                output_names=[OUTPUT],
                external_data=False,
                verbose=False,
            )
            assert program is not None
            program.save(str(temporary), external_data=False)
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ValueError(f"{folder}: this network cannot be exported to ONNX: {first}") from error
        check(temporary, embedder)
    return path


def check(path: Path, embedder: TrainedEmbedder) -> float:
    """The largest difference between the embeddings of an ONNX file and of the model itself, over several batches.

    Raises
    ------
    ValueError : it is above `TOLERANCE`.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    largest = 0.0
    for size in BATCHES:
        images = example(embedder, size)
        own = embedder(images)
        (found,) = session.run([OUTPUT], {INPUT: images})
        difference = float(np.abs(found - own).max()) / max(1.0, float(np.abs(own).max()))
        if not difference <= TOLERANCE:
            raise ValueError(
                f"{path}: for {size} images the ONNX file's embeddings differ from the model's by {difference:.2g}; at "
                f"most {TOLERANCE:g} is accepted"
            )
        largest = max(largest, difference)
    return largest


def example(embedder: TrainedEmbedder, size: int) -> np.ndarray:
    """Images (size, *shape): the input example that MLflow has, whose values rise from 0 to 255, then random ones."""
    draw = numpy_generator(0, "onnx")
    first = (np.arange(math.prod(embedder.shape)) % 256).reshape(1, *embedder.shape)
    others = draw.integers(0, 256, (size - 1, *embedder.shape))
    together = np.concatenate([first, others])
    return together.astype(np.uint8 if len(embedder.shape) == 3 else np.float32)

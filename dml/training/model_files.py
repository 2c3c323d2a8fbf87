"""A trained network on disk: weights as safetensors, a JSON description that rebuilds it, and an ONNX file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.export import Dim

from dml import models
from dml.data import augment as augmentations
from dml.discovery import installed
from dml.evaluation import embed_images, of_views
from dml.files import read_json, replacing, write_text
from dml.files import sha256 as digest
from dml.models._network import NormalizedLinear
from dml.models._weights import problems_of, read
from dml.protocols import Augmentation
from dml.seeding import numpy_generator
from dml.training.frozen.opening import FeatureRows
from dml.types import InitFromSpec, Views

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
    """A trained network, from the `model/` folder of a finished trial, for images or the vectors it was trained on.

    Its `network` is in evaluation mode on the CPU, `augment` the preprocessing, `normalize` whether embeddings are
    L2-normalised, `views` of an image are joined as by `dml.evaluation.embed`, and `shape` is (H, W, C) of the images
    or (D',) of the vectors.
    """

    def __init__(self, folder: Path):
        weights, description = load_model(Path(folder))
        network = description["network"]
        self.network = models.build(**models.find(network["backbone"]).without_weights(network))
        self.network.load_state_dict(weights)
        self.network.eval()
        vectors = description["augment"] is None
        self.augment: Augmentation = FeatureRows() if vectors else augmentations.build(**description["augment"])
        self.normalize = description["normalize"]
        self.views: Views = description.get("views", "one")
        self.shape = tuple(description["image_shape"])

    def __call__(self, images: np.ndarray, batch: int | None = None) -> np.ndarray:
        """uint8 (N, H, W, C), or (N, H, W) of grey images, or vectors float (N, D') -> embeddings float32 (N, D).

        They are L2-normalised if the network was trained so, or if they join views. `batch` images are embedded at
        once. Raises ValueError for another type or shape than those of the training.
        """
        images, vectors = np.asarray(images), len(self.shape) == 1
        if images.ndim == 3 and self.shape[-1] == 1 and not vectors:
            images = images[..., None]
        of_type = np.issubdtype(images.dtype, np.floating) if vectors else images.dtype == np.uint8
        if not of_type or images.ndim != len(self.shape) + 1 or images.shape[1:] != self.shape:
            raise ValueError(
                f"expected {'float vectors' if vectors else 'uint8 images'} of shape "
                f"(N, {', '.join(map(str, self.shape))}), got {images.dtype} of shape {images.shape}"
            )
        if not len(images):
            return np.empty((0, self.network.embedding_size), np.float32)
        pixels = images.astype(np.float32, copy=False)[:, None, None, :] if vectors else images
        embedded = embed_images(self.network, pixels, augment=self.augment, batch=batch, views=self.views)
        return (nn.functional.normalize(embedded) if self.normalize else embedded).numpy()


HEAD = "head."


def weights_file(path: Path) -> Path:
    """The file with the weights: of a trial's `model` folder, or the file itself. Raises ValueError."""
    file = path / WEIGHTS if path.is_dir() else path
    if file.suffix not in (".safetensors", ".pt"):
        raise ValueError(f"{path}: expected a trial's `model` folder, a .safetensors file or a checkpoint (.pt)")
    if not file.is_file():
        raise ValueError(f"{file}: no such file")
    return file


def load_init_from(model: nn.Module, init_from: InitFromSpec) -> None:
    """Give a network the weights that it starts from. Raises ValueError."""
    file = weights_file(Path(init_from.path))
    if digest(file) != init_from.weights:
        raise ValueError(f"{file}: these are not the weights that the trial was planned with: run the sweep again")
    fitting = fit(model.state_dict(), read(file), init_from.head)
    saved = (read_json(file.with_name("model.json")) or {}).get("network")
    others = saved is not None and bool(saved.get("head_normalize")) != isinstance(model.head, NormalizedLinear)
    if others and any(name.startswith(HEAD) for name in fitting):
        raise ValueError(f"{file}: only one of its head and this one divides features by their length: set `head: new`")
    model.load_state_dict(fitting, strict=False)


def fit(network: Mapping[str, Tensor], weights: Mapping[str, Tensor], head: str | None = None) -> dict[str, Tensor]:
    """The weights that a network takes over. Raises ValueError."""
    states = (network, weights)
    backbones = [{name: w for name, w in state.items() if not name.startswith(HEAD)} for state in states]
    if problems := problems_of(*backbones):
        raise ValueError(f"the weights are of another backbone: {'; '.join(problems)}")
    heads = [{name: w for name, w in state.items() if name.startswith(HEAD)} for state in states]
    return backbones[1] if head == "new" or problems_of(*heads) else {**backbones[1], **heads[1]}


ONNX = "model.onnx"
TOLERANCE = 1e-4  # of each number of an embedding; relative to the largest one if that is above 1
BATCHES = (1, 2, 7)  # that are checked


def check_extra() -> None:
    """Raise a ValueError unless the packages that export and check are installed."""
    if missing := [name for name in ("onnx", "onnxruntime", "onnxscript") if not installed(name)]:
        raise ValueError(f"ONNX needs {', '.join(missing)}: pip install -c constraints.txt -e '.[onnx]'")


class Deployed(nn.Module):
    """What the ONNX file computes: the preprocessing, the network, and what the embedder does to its embeddings."""

    def __init__(self, embedder: TrainedEmbedder):
        super().__init__()
        self.network, self._augment = embedder.network, embedder.augment
        self._normalize, self._vectors = embedder.normalize, len(embedder.shape) == 1
        self._embed = of_views(self._of_one, embedder.views)

    def forward(self, images: Tensor) -> Tensor:
        """uint8 (N, H, W, C), or vectors float32 (N, D') -> float32 (N, D)."""
        embeddings = self._embed(images[:, :, None, None] if self._vectors else images.permute(0, 3, 1, 2))
        return nn.functional.normalize(embeddings) if self._normalize else embeddings

    def _of_one(self, pixels: Tensor) -> Tensor:
        return self.network(self._augment(pixels, training=False, generator=None))


def export_onnx(folder: Path) -> Path:
    """Write `model.onnx` beside the weights of a trained model, for batches of any size.

    Raises ValueError if the extra is missing, if the network cannot be exported, or if the file's embeddings differ
    from the model's by more than `TOLERANCE`.
    """
    check_extra()
    embedder, path = TrainedEmbedder(folder), Path(folder) / ONNX
    dtype = np.float32 if len(embedder.shape) == 1 else np.uint8
    images = numpy_generator(0, "onnx").integers(0, 256, (max(BATCHES), *embedder.shape)).astype(dtype)
    with replacing(path) as temporary:
        try:
            program = torch.onnx.export(
                Deployed(embedder).eval(),
                (torch.from_numpy(images),),
                dynamo=True,
                dynamic_shapes={"images": {0: Dim("batch")}},
                input_names=["images"],
                output_names=["embeddings"],
                external_data=False,
                verbose=False,
            )
            assert program is not None
            program.save(str(temporary), external_data=False)
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ValueError(f"{folder}: this network cannot be exported to ONNX: {first}") from error
        _check(temporary, embedder, images)
    return path


def _check(path: Path, embedder: TrainedEmbedder, images: np.ndarray) -> None:
    """Raise a ValueError if the file's embeddings of a batch differ from the model's."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for size in BATCHES:
        expected = embedder(images[:size])
        (embeddings,) = session.run(None, {"images": images[:size]})
        difference = float(np.abs(embeddings - expected).max()) / max(1.0, float(np.abs(expected).max()))
        if not difference <= TOLERANCE:
            raise ValueError(
                f"{path}: for {size} images the ONNX file's embeddings differ from the model's by {difference:.2g}; at "
                f"most {TOLERANCE:g} is accepted"
            )

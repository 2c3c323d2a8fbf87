"""ONNX files: their embeddings are those of torch, for any batch size; a file that differs is not kept."""

import numpy as np
import pytest
import torch

from dml import models
from dml.training import model_files
from dml.training.model_files import TrainedEmbedder, save_model

pytestmark = pytest.mark.slow

REASON = "the extra `onnx` is not installed"
pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxscript", reason=REASON)
onnxruntime = pytest.importorskip("onnxruntime", reason=REASON)


def write(folder, augment, shape, normalize=True, views=None, **network):
    """A network whose weights and batch statistics are random."""
    torch.manual_seed(0)
    built = models.build(**network)
    for module in built.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    description = {"network": network, "augment": augment, "normalize": normalize, "image_shape": list(shape)}
    save_model(folder, built, description | ({} if views is None else {"views": views}))
    return folder


@pytest.fixture
def small(tmp_path):
    network = {"backbone": "small_conv", "embedding_size": 5, "channels": 1, "image_size": 8, "width": 4}
    return write(tmp_path / "model", {"name": "none", "channels": 1}, (8, 8, 1), **network)


CASES = {  # augmentation, shape, normalised, network
    "colour from grey, cropped, ImageNet's statistics": (
        {"name": "crop224", "channels": 3, "normalization": "imagenet"},
        (230, 226, 1),
        True,
        {"backbone": "small_conv", "channels": 3, "image_size": 224, "width": 4},
    ),
    "resized, own statistics, not normalised": (
        {"name": "none", "image_size": 12, "normalization": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}},
        (40, 34, 3),
        False,
        {"backbone": "mlp", "channels": 3, "image_size": 12},
    ),
    "vectors": (None, (6,), True, {"backbone": "identity", "channels": 6}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_embeds_as_torch_does_for_any_batch_size(tmp_path, case):
    augment, shape, normalize, network = CASES[case]
    folder = write(tmp_path / "model", augment, shape, normalize, embedding_size=5, **network)
    path = model_files.export_onnx(folder)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    embedder, draw = TrainedEmbedder(folder), np.random.default_rng(1)
    for size in (1, 4, 33):
        images = draw.integers(0, 256, (size, *shape)).astype(np.uint8 if len(shape) == 3 else np.float32)
        (found,) = session.run(None, {"images": images})
        np.testing.assert_allclose(found, embedder(images), atol=1e-4)
        assert found.dtype == np.float32
        lengths = np.linalg.norm(found, axis=1)
        assert np.allclose(lengths, 1, atol=1e-5) == normalize


def test_it_embeds_both_views(tmp_path):
    network = {"backbone": "small_conv", "embedding_size": 5, "channels": 1, "image_size": 8, "width": 4}
    shape, augment = (12, 10, 1), {"name": "none", "channels": 1}
    one = TrainedEmbedder(write(tmp_path / "one", augment, shape, **network))
    folder = write(tmp_path / "both", augment, shape, views="mirror", **network)
    session = onnxruntime.InferenceSession(str(model_files.export_onnx(folder)), providers=["CPUExecutionProvider"])
    for size in (1, 4, 33):
        images = np.random.default_rng(size).integers(0, 256, (size, *shape)).astype(np.uint8)
        total = one(images) + one(images[:, :, ::-1])
        (found,) = session.run(None, {"images": images})
        np.testing.assert_allclose(found, total / np.linalg.norm(total, axis=1, keepdims=True), atol=1e-5)
        assert np.abs(found - one(images)).max() > 1e-4


def test_a_file_that_differs_is_an_error_and_not_kept(small, monkeypatch):
    exported = model_files.Deployed.forward
    monkeypatch.setattr(model_files.Deployed, "forward", lambda self, images: exported(self, images) + 3e-4)
    with pytest.raises(ValueError, match=r"for 1 images the ONNX file's embeddings differ .* by 0\.0003"):
        model_files.export_onnx(small)
    assert not list(small.glob("*.onnx*"))

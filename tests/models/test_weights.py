"""Backbones with weights from a file: what fits is loaded, what does not fit is named."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from dml import models

pytestmark = pytest.mark.slow

IMAGES = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def network(name="mobilenet_v2", **settings):
    from torchvision import models as available

    torch.manual_seed(1)
    return available.get_model(name, weights=None, **settings).eval()


def backbone(path, part="torchvision", **settings):
    return models.find(part)(weights=str(path), **settings).eval()


@pytest.mark.parametrize("kept", ["all", "no classifier", "classifier of 7 classes"])
@pytest.mark.parametrize("suffix", [".safetensors", ".pth", ".pt"])
def test_features_are_those_of_the_network_in_the_file(kept, suffix, tmp_path):
    made = network(num_classes=7 if "7" in kept else 1000)
    state = {k: w for k, w in made.state_dict().items() if kept != "no classifier" or "classifier" not in k}
    path = tmp_path / f"own{suffix}"
    save_file(state, path) if suffix == ".safetensors" else torch.save(state, path)
    loaded = backbone(path, name="mobilenet_v2")
    expected = made.features(IMAGES).mean((2, 3))
    assert torch.equal(loaded(IMAGES), expected)
    assert loaded.features == expected.shape[1] == 1280


@pytest.mark.parametrize(
    "wrapped", ["state_dict", "model", "module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."]
)
def test_checkpoints_of_training_programs(wrapped, tmp_path):
    """Weights beside other things, or with the names of a data-parallel or compiled network."""
    made = network("squeezenet1_1")
    state = made.state_dict()
    prefixed = {wrapped + name: weight for name, weight in state.items()}
    saved = prefixed if wrapped.endswith(".") else {wrapped: state, "epoch": 3}
    torch.save(saved, tmp_path / "own.pth")
    expected = made.features(IMAGES).mean((2, 3))
    assert torch.equal(backbone(tmp_path / "own.pth", name="squeezenet1_1")(IMAGES), expected)


def test_weights_of_the_only_part_have_its_own_names(tmp_path):
    made = network("squeezenet1_1")
    save_file(made.features.state_dict(), tmp_path / "features.safetensors")
    loaded = backbone(tmp_path / "features.safetensors", name="squeezenet1_1")
    assert torch.equal(loaded(IMAGES), made.features(IMAGES).mean((2, 3)))
    assert loaded.features == 512


def test_auxiliary_heads_are_ignored(tmp_path):
    made = network("googlenet", init_weights=False)
    assert any(name.startswith("aux1.") for name in made.state_dict())
    save_file(made.state_dict(), tmp_path / "own.safetensors")
    loaded = backbone(tmp_path / "own.safetensors", name="googlenet").state_dict()
    assert torch.equal(loaded["network.conv1.conv.weight"], made.conv1.conv.weight)


def test_timms_names_and_other_channels(tmp_path):
    timm = pytest.importorskip("timm")
    made = timm.create_model("resnet18", num_classes=5).eval()
    save_file(made.state_dict(), tmp_path / "own.safetensors")
    loaded = backbone(tmp_path / "own.safetensors", "timm", name="resnet18")
    assert torch.equal(loaded(IMAGES), made.forward_head(made.forward_features(IMAGES), pre_logits=True))
    grey = backbone(tmp_path / "own.safetensors", "timm", name="resnet18", channels=1)
    torch.testing.assert_close(grey(IMAGES[:, :1]), loaded(IMAGES[:, :1].repeat(1, 3, 1, 1)), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=r"backbone 'timm': mobilenetv1_100: arguments .*channel_multiplier"):
        models.find("timm")(name="mobilenetv1_100", pretrained=False, arguments={"channel_multiplier": 0.75})


VIT = {"patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 3}
SWIN = {"embed_dim": 12, "depths": [1, 2], "num_heads": [2, 2], "window_size": 4}
TRANSFORMERS = {
    "vit_tiny_patch16_224": VIT,
    "vit_small_patch14_reg4_dinov2": VIT,
    "deit_tiny_distilled_patch16_224": VIT,
    "beit_base_patch16_224": VIT,
    "eva02_tiny_patch14_224": VIT,
    "vit_small_patch16_dinov3": VIT,
    "swin_tiny_patch4_window7_224": SWIN,
    "swinv2_tiny_window8_256": SWIN,
    "convnext_atto": {"depths": [1, 1, 1, 1], "dims": [8, 12, 16, 20]},
}


@pytest.mark.filterwarnings("ignore:torch.searchsorted|Using a non-tuple sequence:UserWarning")  # in timm's Beit
@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_at_the_size_of_their_file_and_at_another(name, suffix, tmp_path):
    """At another size the features are those of timm's own way, `set_input_size`, or a checkpoint that it adapts."""
    timm = pytest.importorskip("timm")
    torch.manual_seed(3)
    sized = {} if name in ("convnext_atto",) else {"img_size": 64}
    made = timm.create_model(name, num_classes=5, **TRANSFORMERS[name], **sized).eval()
    path = tmp_path / f"own{suffix}"
    state = {key: weight.contiguous() for key, weight in made.state_dict().items()}
    save_file(state, path) if suffix == ".safetensors" else torch.save({"model": state}, path)
    images, larger = torch.randn(2, 3, 64, 64), torch.randn(2, 3, 96, 96)
    settings = {"name": name, "arguments": TRANSFORMERS[name]}
    loaded = backbone(path, "timm", image_size=64, **settings)
    expected = made.forward_head(made.forward_features(images), pre_logits=True)
    torch.testing.assert_close(loaded(images), expected)
    overlay = {"state_dict": dict(state), "num_classes": 5, "custom_load": False}
    sized = {} if name in ("convnext_atto",) else {"img_size": 96}
    theirs = timm.create_model(
        name, pretrained=True, pretrained_cfg_overlay=overlay, num_classes=0, **TRANSFORMERS[name], **sized
    ).eval()
    torch.testing.assert_close(backbone(path, "timm", image_size=96, **settings)(larger), theirs(larger))


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("code.pth", Harmful(), r"other objects \(.*\), not tensors: save `model\.state_dict\(\)`$"),
        ("list.pt", [1, 2], "expected tensors by name"),
        ("cut.pth", b"PK\x03\x04", "not a file of weights that can be read safely: RuntimeError: PytorchStreamReader"),
        (
            "pointer.pth",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
            "a git-LFS pointer, not the file",
        ),
        ("cut.safetensors", b"{}", "not a safetensors file"),
        ("own.onnx", b"", r"expected a file whose name ends with \.safetensors, \.pth, \.pt"),
    ],
)
def test_files_that_are_not_weights(tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content) if isinstance(content, bytes) else torch.save(content, name)
    with pytest.raises(ValueError, match=message):
        backbone(name, name="squeezenet1_1")
    assert not Path("made-by-a-pickle").exists()


def test_a_file_that_changed_since_the_plan_is_refused(tmp_path):
    path = tmp_path / "own.safetensors"
    save_file(network("squeezenet1_1").state_dict(), path)
    settings = models.with_files("torchvision", {"name": "squeezenet1_1", "weights": str(path)})
    assert settings["weights"]["path"] == str(path)
    assert models.with_files("torchvision", settings) == settings
    assert models.with_files("mlp", {"weights": "x"}) == {"weights": "x"}, "not a file's path to other backbones"
    part = models.find("torchvision")
    part(**settings)
    state = load_file(path)
    save_file({**state, "features.0.bias": state["features.0.bias"] + 1}, path)
    with pytest.raises(ValueError, match="not the weights that the trial was planned with"):
        part(**settings)
    assert models.with_files("torchvision", settings)["weights"]["sha256"] != settings["weights"]["sha256"]


# Real weights, of which the README beside them says how they load.

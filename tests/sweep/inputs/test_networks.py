"""A network that takes no images of a dataset's size is an error with its line, before anything is trained."""

from types import SimpleNamespace

import pytest

from dml.config import ConfigError, Study
from dml.sweep.inputs import checking

pytest.importorskip("timm")

VIT = {"patch_size": 8, "embed_dim": 12, "depth": 1, "num_heads": 2}


def check(tmp_path, monkeypatch, size, settings, **training):
    """Check the networks of a study whose images have `size`."""
    backbone = {"name": "timm", "settings": {"pretrained": False, **settings}}
    study = Study.model_validate(
        {"title": "Mine", "datasets": ["digits"], "losses": ["triplet"], "training": {"backbone": backbone, **training}}
    )
    manifest = dict(zip(("height", "width", "channels"), size, strict=True)) | {"digest": "", "images": 1}
    monkeypatch.setattr(checking, "open_packed_of", lambda root, dataset: SimpleNamespace(manifest=manifest))
    file = tmp_path / "mine.yaml"
    file.write_text("title: Mine\ntraining:\n  backbone: timm\n")
    checking._check_networks(study, tmp_path, file)


@pytest.mark.parametrize("training", [{}, {"frozen": True}, {"train_from": "blocks.0"}])
def test_images_that_are_not_square_need_a_network_of_any_size(tmp_path, monkeypatch, training):
    fixed = {"name": "vit_tiny_patch16_224", "arguments": VIT}
    with pytest.raises(ConfigError, match=r"mine.yaml:3: .*digits.* takes no images of 48 x 64 pixels: .*64.*48"):
        check(tmp_path, monkeypatch, (48, 64, 3), fixed, **training)
    check(tmp_path, monkeypatch, (48, 48, 1), fixed, **training)
    dynamic = {**fixed, "arguments": {**VIT, "dynamic_img_size": True}}
    check(tmp_path, monkeypatch, (48, 64, 3), dynamic, **training)
    with pytest.raises(ConfigError, match="no images of 64 x 50 pixels"):
        check(tmp_path, monkeypatch, (64, 50, 3), dynamic, **training)

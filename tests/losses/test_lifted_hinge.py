"""Lifted structure in hinge form against loops over pairs and samples."""

from __future__ import annotations

import pytest
import torch

from dml.losses import geodesic
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

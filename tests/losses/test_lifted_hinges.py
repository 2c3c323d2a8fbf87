"""The lifted hinge and its variant with the farthest positive, against loops over pairs and samples."""

import pytest
import torch

from dml.losses import build, geodesic

NAMES = ["lifted_hinge", "hphn_triplet"]
SYNTHESES = ["none", "loop", "loop_linear", "embedding_expansion"]


def pairs_of(y):
    for value in sorted(set(y.tolist())):
        members = (y == value).nonzero().flatten().tolist()
        yield from zip(members[::2], members[1::2], strict=False)


def naive(name, x, y, margin, synthesis, normalize):
    x = x / x.norm(dim=1, keepdim=True) if normalize else x
    closest = {"loop": geodesic.arcs, "loop_linear": geodesic.segments}.get(synthesis)
    total, count = x.sum() * 0, 0
    for i, j in pairs_of(y):
        if closest is None:
            others = [(x[a] - x[k]).norm() for a in (i, j) for k in range(len(y)) if y[k] != y[i]]
        else:
            pairs = [(k, l) for k, l in pairs_of(y) if y[k] != y[i]]
            others = [closest(*(x[n][None] for n in (i, j, k, l))).distance[0, 0] for k, l in pairs]
        mates = [(a, k) for a in (i, j) for k in range(len(y)) if y[k] == y[i] and k != a]
        same = [(x[a] - x[k]).norm() for a, k in (mates if name == "hphn_triplet" else [(i, j)])]
        if others:
            total, count = total + torch.relu(max(same) + margin - min(others)), count + 1
    return total / max(count, 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("synthesis", SYNTHESES[:3])
@pytest.mark.parametrize(("seed", "margin", "normalize"), [(0, 0.2, True), (1, 0.0, True), (2, 0.7, False)])
def test_against_loops(check, name, synthesis, seed, margin, normalize):
    normalize = normalize or synthesis == "loop"
    for duplicates in (False, True):
        x, y = check.batch(seed, duplicates=duplicates)
        loss = build(name, margin=margin, synthesis=synthesis, normalize=normalize)
        check.equal(loss, lambda e, y=y: naive(name, e, y, margin, synthesis, normalize), x, y, tied=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("synthesis", SYNTHESES)
@pytest.mark.parametrize("labels", [[0] * 6, [0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 4], [3], []], ids=str)
def test_nothing_to_compare(name, synthesis, labels):
    """0, attached: unless there is a negative for the only pair, which single samples are without synthesis."""
    x = torch.randn(len(labels), 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = build(name, synthesis=synthesis)
    value = loss(x, torch.tensor(labels, dtype=torch.int64))
    assert (value > 0) == (synthesis == "none" and labels == [0, 0, 1, 2, 3, 4])
    value.backward()
    assert x.grad.isfinite().all()
    assert loss.stats["active_share"] == (value > 0)

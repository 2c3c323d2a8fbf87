"""The `synthesis` option of triplet and multi_similarity: d_ijkl by brute force over the arcs, segments or points."""

import math

import pytest
import torch

import dml.losses

pytestmark = pytest.mark.slow


def least_distance(kind, ends):
    """The least distance between the two sets, over a fine grid in two stages (for values, not for gradients)."""
    i, j, k, l = ends

    def path(u, v, t):
        if kind != "loop":
            points = (1 - t)[:, None] * u + t[:, None] * v
            return points / points.norm(dim=1, keepdim=True) if kind == "embedding_expansion" else points
        angle = math.acos(float((u @ v).clamp(-1, 1)))
        if angle < 1e-9:
            return u.expand(len(t), -1)
        return (torch.sin((1 - t) * angle)[:, None] * u + torch.sin(t * angle)[:, None] * v) / math.sin(angle)

    if kind == "embedding_expansion":
        t = torch.linspace(0, 1, 4, dtype=i.dtype)
        return torch.cdist(path(i, j, t), path(k, l, t), compute_mode="donot_use_mm_for_euclid_dist").min()
    s = t = torch.linspace(0, 1, 201, dtype=i.dtype)
    for _ in range(5):
        d = torch.cdist(path(i, j, s), path(k, l, t), compute_mode="donot_use_mm_for_euclid_dist")
        best = int(d.argmin())
        a, b = s[best // len(t)], t[best % len(t)]
        width = (s[1] - s[0]) * 4
        s, t = (torch.linspace(max(0.0, c - width), min(1.0, c + width), 201, dtype=i.dtype) for c in (a, b))
    return d.min()


def pairs_of(y):
    pairs = []
    for c in sorted(set(y.tolist())):
        members = [i for i in range(len(y)) if y[i] == c]
        pairs += [(members[k], members[k + 1]) for k in range(0, len(members) - 1, 2)]
    return pairs


@pytest.mark.parametrize("kind", ["loop", "loop_linear", "embedding_expansion"])
@pytest.mark.parametrize(
    ("reduction", "distance"), [("mean", "euclidean"), ("nonzero", "squared"), ("sum", "euclidean")]
)
def test_triplet(check, kind, reduction, distance):
    x, y = check.batch(0, sizes=(4, 1, 3, 2), duplicates=False)
    z = check.unit_rows(x)
    power = 2 if distance == "squared" else 1
    costs = []
    for i, j in pairs_of(y):
        for k, l in pairs_of(y):
            if y[i] != y[k]:
                hardest = least_distance(kind, (z[i], z[j], z[k], z[l]))
                costs.append(torch.relu((z[i] - z[j]).norm() ** power - hardest**power + 0.5))
    costs = torch.stack(costs)
    expected = costs.sum() / {"mean": len(costs), "nonzero": (costs > 0).sum(), "sum": 1}[reduction]
    loss = dml.losses.build("triplet", margin=0.5, distance=distance, reduction=reduction, synthesis=kind)
    torch.testing.assert_close(loss(x, y), expected, rtol=1e-5, atol=1e-7)
    assert torch.autograd.gradcheck(lambda e: loss(e, y), (x.requires_grad_(),), eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("kind", ["loop", "loop_linear", "embedding_expansion"])
@pytest.mark.parametrize("mined", [False, True])
def test_multi_similarity(check, kind, mined):
    x, y = check.batch(1, sizes=(4, 1, 3, 2), duplicates=False)
    z = check.unit_rows(x)
    tuples = check.some_pairs(y, 1) if mined else None
    positives, negatives = check.pair_lists(y, tuples)
    pairs = pairs_of(y)
    expected = 0
    for i in range(len(y)):
        pull = [torch.exp(-2 * (z[i] @ z[j] - 0.5)) for k, j in positives if k == i]
        least = min([float(z[i] @ z[n]) for k, n in negatives if k == i], default=math.inf)
        push = []
        for own in [p for p in pairs if i in p]:
            for k, l in [q for q in pairs if y[q[0]] != y[i]]:
                s = 1 - least_distance(kind, (z[own[0]], z[own[1]], z[k], z[l])) ** 2 / 2
                if s >= least - 1e-9:
                    push.append(torch.exp(50 * (s - 0.5)))
        zero = x.new_zeros(())
        expected += torch.log1p(sum(pull, zero)) / 2 + torch.log1p(sum(push, zero)) / 50
    loss = dml.losses.build("multi_similarity", synthesis=kind)
    torch.testing.assert_close(loss(x, y, tuples), expected / len(y), rtol=1e-5, atol=1e-7)
    assert torch.autograd.gradcheck(lambda e: loss(e, y, tuples), (x.requires_grad_(),), eps=1e-6, atol=1e-4)

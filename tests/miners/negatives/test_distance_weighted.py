"""The target distribution is computed here in float64 logarithms, from the definition."""

import numpy as np
import pytest
import torch

from dml.miners import build

ALWAYS = True

pytestmark = pytest.mark.slow


def reference(naive, a, p, chosen, settings):
    return [t for t in naive.others(a) if naive.unit[a, t] <= settings["max_distance"]] or naive.others(a)


def target(embeddings, labels, dimension, cutoff=0.5, max_distance=1.4):
    """(N, N) P(n | a)."""
    x = embeddings.double().numpy()
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    rows = np.zeros((len(x), len(x)))
    for a in range(len(x)):
        d = np.sqrt(((x[a] - x) ** 2).sum(1))
        others = [n for n in range(len(x)) if labels[n] != labels[a]]
        near = [n for n in others if d[n] <= max_distance] or others
        clipped = np.maximum(d[near], cutoff)
        with np.errstate(divide="ignore"):
            log_q = (dimension - 2) * np.log(clipped) + (dimension - 3) / 2 * np.log(1 - clipped**2 / 4)
        weights = np.exp(-log_q - np.max(-log_q))
        rows[a, near] = weights / weights.sum()
    return rows


def batch(dimension, seed, duplicates=3):
    """Two classes with spread distances, so several negatives have weight, and near-duplicates across the classes."""
    generator = torch.Generator().manual_seed(seed)
    shared = torch.randn(dimension, generator=generator)
    strength = 3 / dimension**0.5 * torch.rand(60, 1, generator=generator)
    embeddings = torch.randn(60, dimension, generator=generator) + strength * shared
    labels = torch.tensor([0, 1]).repeat(30)[torch.randperm(60, generator=generator)]
    first, second = (labels == 0).nonzero()[:duplicates, 0], (labels == 1).nonzero()[:duplicates, 0]
    embeddings[second] = embeddings[first] + 1e-4 * torch.randn(duplicates, dimension, generator=generator)
    return embeddings, labels, {*first.tolist(), *second.tolist()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dimension", [8, 32, 128, 512])
def test_frequencies_with_near_duplicates(dimension, dtype, tools):
    embeddings, labels, duplicated = batch(dimension, seed=dimension)
    expected = target(embeddings, labels, dimension)
    mine = build(positives="all", negatives="distance_weighted")
    counts = tools.count(mine, embeddings.to(dtype), labels, 120, column=2)
    assert (counts.sum(1) == 120 * 29).all()  # no anchor lost
    assert tools.chi_square(counts, expected) > 1e-3
    others = [a for a in range(60) if a not in duplicated]
    assert np.median((expected[others] > 0.01).sum(1)) >= 5  # a duplicate elsewhere leaves the others their choice
    if dimension >= 128:
        assert (expected[sorted(duplicated)].max(1) > 0.999).all()


def test_nothing_beyond_the_largest_distance_unless_there_is_nothing_else(tools):
    """In the plane: anchors at 0 degrees; strangers at 60, 100 (d = 1.53) and 180 degrees (d = 2)."""

    def place(*degrees):
        angle = torch.tensor(degrees).deg2rad()
        return torch.stack([angle.cos(), angle.sin(), 0 * angle, 0 * angle, 0 * angle], dim=1)

    labels = torch.tensor([0, 0, 1, 2, 3])
    some, far = place(0.0, 1, 60, 100, 180), place(0.0, 1, 110, 100, 105)
    mine = build(positives="easy", negatives="distance_weighted")
    assert tools.count(mine, some, labels, 200, column=2)[0].tolist() == [0, 0, 200, 0, 0]
    expected = target(far, labels, 5)
    assert tools.chi_square(tools.count(mine, far, labels, 800, column=2)[:2], expected[:2]) > 1e-3
    wide = build(positives="easy", negatives="distance_weighted", max_distance=1.6)
    assert tools.count(wide, some, labels, 800, column=2)[0, 3] > 0


@pytest.mark.parametrize("settings", [{"normalize": False}, {"distance": "squared"}])
def test_the_density_is_that_of_unit_vectors(settings, tools):
    embeddings, labels, _ = batch(16, seed=1)
    embeddings = embeddings * (0.1 + 5 * torch.rand(60, 1, generator=torch.Generator().manual_seed(0)))
    mine = build(positives="all", negatives="distance_weighted", **settings)
    counts = tools.count(mine, embeddings, labels, 120, column=2)
    assert tools.chi_square(counts, target(embeddings, labels, 16)) > 1e-3

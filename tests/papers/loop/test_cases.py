"""LoOp's nine cases against a search that uses none of its formulas, and against the losses' implementation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dml.losses import geodesic
from papers.loop.theory import cases as arc_cases
from papers.loop.theory import random_arcs
from papers.loop.theory import search as arc_search
from papers.loop.theory.random_arcs import Arcs

KINDS = tuple(random_arcs.nearly_degenerate(np.random.default_rng(0), 1, 3))


def check(arcs, tolerance=1e-8):
    found = arc_search.compare(arcs)
    assert found.above < tolerance
    assert found.below < tolerance
    assert found.attained < tolerance
    return found


@pytest.mark.parametrize("size", [2, 3, 8, 64, 512])
def test_random_arcs(size):
    found = check(random_arcs.uniform(np.random.default_rng(size), 500, size), 1e-10)
    assert (found.hits > 0).all()
    assert found.hits.sum() == found.pairs == 500


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_arcs(kind):
    arcs = random_arcs.nearly_degenerate(np.random.default_rng(1), 100, 3)[kind]
    check(arcs, 5e-8 if "opposite" in kind else 1e-10)


@pytest.mark.parametrize("size", [2, 3, 16])
def test_the_same_as_the_losses(size):
    arcs = random_arcs.uniform(np.random.default_rng(2), 60, size)
    ours = arc_cases.least(arc_cases.box_of(arcs))
    theirs = geodesic.arcs(*map(torch.from_numpy, arcs))
    np.testing.assert_allclose(ours.distance, theirs.distance.diagonal().numpy(), atol=1e-7)
    if size > 2:  # in the plane overlapping arcs touch at many points, which are of several cases
        np.testing.assert_array_equal(ours.case, theirs.case.diagonal().numpy())


def test_candidates_inside_the_box_are_critical_or_at_its_edge():
    box = arc_cases.box_of(random_arcs.uniform(np.random.default_rng(3), 300, 5))
    for case, alpha, beta in arc_cases.candidates(box):
        by_alpha, by_beta = box.gradient(alpha, beta)
        if case in (0, 3, 4):
            assert np.abs(by_alpha).max() < 1e-10
        if case in (0, 1, 2):
            assert np.abs(by_beta).max() < 1e-10


def test_crossing_arcs_touch():
    """They cross at right angles, each in its middle: ab + cd = 0, by which the paper's quadratics divide."""
    ends = [[np.cos(0.3), s * np.sin(0.3), 0.0] for s in (-1, 1)]
    ends += [[np.cos(0.4), 0.0, s * np.sin(0.4)] for s in (-1, 1)]
    found = arc_cases.least(arc_cases.box_of(Arcs(*(np.array([end]) for end in ends))))
    assert found.case[0] == 0
    assert found.distance[0] < 1e-7
    assert found.alpha[0] == pytest.approx(0.3)
    assert found.beta[0] == pytest.approx(0.4)

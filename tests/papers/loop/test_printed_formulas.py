"""The signs of LoOp's interior case."""

import numpy as np

from papers.loop.theory import cases as arc_cases
from papers.loop.theory import printed_formulas as arc_printed


def test_equal_signs_are_critical_and_printed_ones_never():
    found = arc_printed.critical(arc_printed.box_of_coefficients(np.random.default_rng(1), 5000))
    for pair, residual in found.residual.items():
        if pair[0] == pair[1]:
            assert residual.max() < 1e-10
        else:
            assert residual.min() > 0.5
    assert found.supplement.min() > 1e-7  # the A of one line of the supplement gives no critical point
    assert np.median(found.supplement) > 0.1


def test_the_upper_pair_is_an_extremum_and_the_lower_a_saddle():
    """By the second derivatives, computed by differences of the gradient."""
    box = arc_printed.box_of_coefficients(np.random.default_rng(2), 500)
    step = 1e-5
    for k, sign in ((0, 1), (1, -1)):
        alpha, beta = (np.arctan(roots[k]) for roots in arc_cases.tangents(box))
        ahead, behind = box.gradient(alpha + step, beta), box.gradient(alpha - step, beta)
        first = [(p - q) / (2 * step) for p, q in zip(ahead, behind, strict=True)]
        ahead, behind = box.gradient(alpha, beta + step), box.gradient(alpha, beta - step)
        second = [(p - q) / (2 * step) for p, q in zip(ahead, behind, strict=True)]
        determinant = first[0] * second[1] - first[1] * second[0]
        assert (np.sign(determinant) == sign).all()


def test_roots_solve_the_quadratics():
    box = arc_printed.box_of_coefficients(np.random.default_rng(3), 500)
    a, b, c, d = box[:4]
    alphas, betas = arc_cases.tangents(box)
    for t in alphas:
        linear = (a**2 - b**2 + c**2 - d**2) / (a * b + c * d)
        np.testing.assert_allclose((t**2 - linear * t - 1) / (1 + t**2 + np.abs(linear * t)), 0, atol=1e-9)
    for t in betas:
        linear = (a**2 + b**2 - c**2 - d**2) / (a * c + b * d)
        np.testing.assert_allclose((t**2 - linear * t - 1) / (1 + t**2 + np.abs(linear * t)), 0, atol=1e-9)

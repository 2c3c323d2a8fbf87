"""PRISM with a von Mises-Fisher distribution of each class, for noise above one half.

    P_clean(v) = f_y(v) / sum_k f_k(v),   f_k(v) = c_D(kappa_k) exp(kappa_k mu_k . v)
    kappa_k = r (D - r^2) / (1 - r^2)

with the direction mu_k and the length r of the mean of class k's unit embeddings in the memory, and
c_D(kappa) = kappa^(D/2 - 1) / ((2 pi)^(D/2) I_(D/2 - 1)(kappa)). Everything is in logarithms, since the constants
overflow. The threshold and the memory are PRISM's.

Liu et al., "Noise-resistant deep metric learning with probabilistic instance filtering", arXiv 2108.01431. The
concentration: Banerjee et al., "Clustering on the unit hypersphere using von Mises-Fisher distributions", JMLR 2005,
section 4.4. Deviation: r counts as at most `LONGEST`, since a class with one sample in the memory has r = 1 and an
infinite concentration.

The logarithm of the modified Bessel function of the first kind, for any order from 0 and any positive argument.

Debye's expansion, uniform in the argument (NIST Digital Library of Mathematical Functions, 10.41.3), has a relative
error below 3e-9 from order 24 up. Smaller orders follow by the recurrence I_(m-1) = (2 m / x) I_m + I_(m+1), which is
stable in this direction.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from dml.filters._selection import Selection

LEAST = 24  # order from which the expansion is used
# Coefficients of u_k(t) / t^k in t^2, from u_0 on: DLMF 10.41.10.
DEBYE = (
    (1.0,),
    (3 / 24, -5 / 24),
    (81 / 1152, -462 / 1152, 385 / 1152),
    (30375 / 414720, -369603 / 414720, 765765 / 414720, -425425 / 414720),
    (4465125 / 39813120, -94121676 / 39813120, 349922430 / 39813120, -446185740 / 39813120, 185910725 / 39813120),
)


def log_bessel(order: float, x: Tensor) -> Tensor:
    """log I_order(x) for x > 0, float64, of any shape."""
    up = max(0, math.ceil(LEAST - order))
    value, above = _debye(order + up, x), _debye(order + up + 1, x)
    ratio = (above - value).exp()  # I_(m+1) / I_m
    for m in range(up, 0, -1):
        step = 2 * (order + m) / x + ratio
        value, ratio = value + step.log(), 1 / step
    return value


def _debye(order: float, x: Tensor) -> Tensor:
    z = x / order
    root = torch.sqrt(1 + z**2)
    t = 1 / root
    eta = root + torch.log(z / (1 + root))
    series = torch.zeros_like(x)
    for k, coefficients in enumerate(DEBYE):
        inner = torch.zeros_like(x)
        for c in reversed(coefficients):
            inner = inner * t**2 + c
        series = series + inner * (t / order) ** k
    return order * eta - 0.5 * math.log(2 * math.pi * order) - 0.5 * root.log() + series.log()


LONGEST = 0.99
SHORTEST = 1e-4  # a mean of length 0 has no direction, and the distribution is then nearly uniform


class PrismVmf(Selection):
    """Keeps the samples that are most probably clean, by a distribution of each class. Parameters: see `Selection`."""

    version: ClassVar[int] = 1
    least: ClassVar[int] = 2

    def fit(self, means: Tensor) -> tuple[Tensor, Tensor]:
        """Means (n, D), D at least 2 -> kappa mu (n, D) and log c_D(kappa) (n,)."""
        dimension = means.shape[1]
        length = means.norm(dim=1, keepdim=True)
        r = length.clamp(SHORTEST, LONGEST)
        kappa = r * (dimension - r**2) / (1 - r**2)
        direction = means / length.clamp_min(SHORTEST)
        order, single = dimension / 2 - 1, kappa[:, 0]
        constant = order * single.log() - log_bessel(order, single) - dimension / 2 * math.log(2 * math.pi)
        return kappa * direction, constant

"""Distances and similarities of a batch, and a loss's gradient back to its embeddings.

Most losses here are functions of one N x N matrix: similarities `s_ij = x_i . x_j`, squared distances
`D_ij = |x_i - x_j|^2` or distances `d_ij`. Such a loss computes its value and its derivative with respect to that
matrix in the forward pass, without a graph. `Geometry.finish` then takes the derivative back to the embeddings:

    D: dL/dx_i = 2 sum_j (V_ij + V_ji) (x_i - x_j),  V = dL/dD         s: dL/dx_i = sum_j (W_ij + W_ji) x_j,  W = dL/ds

Autograd keeps one (N, D) array until the backward pass, and no N x N matrix. Second derivatives are not supported.

Precision: everything is computed in float32 at least, also under autocast. `_near.py` says how exact distances are.
Distances do not depend on the origin, so embeddings far from it are centred first. The slope of the square root at 0
counts as 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.losses._attach import attach, through
from dml.losses._near import squared_distances
from dml.losses._rows import full_precision, offset, unless_finite
from dml.tensors import unit_rows


class Geometry:
    """The pair matrix of one batch, without a graph, and the way back to the embeddings.

    Parameters
    ----------
    embeddings : (N, D) float; may require a gradient.
    measure : `euclidean` (d), `squared` (D) or `similarity` (s).
    normalize : divide rows by their L2 length first.
    others : (M, D), constants to which the embeddings are compared beside themselves; None: none.

    Attributes
    ----------
    matrix : (N, N + M) of `measure`. A loss may overwrite it. Distances are exactly 0 on the diagonal and for rows that
        are equal up to rounding.
    """

    def __init__(self, embeddings: Tensor, measure: str, normalize: bool, others: Tensor | None = None):
        self._embeddings, self._similar = embeddings, measure == "similarity"
        x = full_precision(embeddings.detach())
        if others is not None:
            x = torch.cat((x, others.to(x.dtype)))
        self._inverse_length: Tensor | None = None
        if normalize:
            x, inverse_length = unit_rows(x)
            self._inverse_length = inverse_length[: len(embeddings)]
        elif not self._similar:
            x = x - offset(x)
        self._x = x
        self._inverse: Tensor | None = None  # 1 / d
        with torch.autocast(x.device.type, enabled=False):
            count = len(embeddings)
            self.matrix = x[:count] @ x.T if self._similar else squared_distances(x, normalize, count)
        if measure == "euclidean":
            squared, self.matrix = self.matrix, self.matrix.sqrt()
            self._inverse = torch.div(self.matrix, squared.add_(1e-30), out=squared)

    def finish(
        self, value: Tensor, derivative: Tensor, *parameters: tuple[Tensor, Tensor], over: Tensor | float = 1.0
    ) -> Tensor:
        """The scalar `value`, attached to the embeddings and to parameters. NaN if an embedding is not finite.

        Parameters
        ----------
        derivative : (N, N + M), `over` times the derivative of `value` with respect to `matrix`; overwritten.
        parameters : (parameter, derivative of `value` with respect to it).
        over : what `derivative` is still to be divided by.
        """
        value = value + unless_finite(self._x)
        terms = [term for term in parameters if term[0].requires_grad and torch.is_grad_enabled()]
        if self._embeddings.requires_grad and torch.is_grad_enabled():
            if self._inverse is not None:
                derivative, over = derivative.mul_(self._inverse), 2 * over  # dd/dD = 1 / (2 d)
            gradient = _back(derivative, self._x, self._inverse_length, self._similar)
            terms.append((self._embeddings, gradient.div_(over)))
        return attach(value, *terms) if terms else value

    def attached(self) -> Tensor:
        """`matrix` (N, N), differentiable by autograd."""
        x, inverse_length, inverse, similar = self._x, self._inverse_length, self._inverse, self._similar

        def back(derivative: Tensor) -> Tensor:
            if inverse is not None:
                derivative = derivative * inverse / 2
            return _back(derivative, x, inverse_length, similar)

        return through(full_precision(self._embeddings), self.matrix, back)


def _back(derivative: Tensor, x: Tensor, inverse_length: Tensor | None, similar: bool) -> Tensor:
    """From the derivative (N, N + M) of similarities or squared distances of `x` to that of the embeddings, (N, D)."""
    count = len(derivative)
    among, rows = derivative[:, :count], x[:count]
    with torch.autocast(x.device.type, enabled=False):
        gradient = torch.addmm(derivative @ x, among.T, rows)
    if not similar:
        # The terms in x_i itself are radial: for unit vectors, the projection below removes them.
        radial = 0 if inverse_length is not None else (derivative.sum(1) + among.sum(0))[:, None] * rows
        gradient = gradient.neg_().add_(radial).mul_(2)
    if inverse_length is not None:
        gradient -= rows * (gradient * rows).sum(1, keepdim=True)
        gradient *= inverse_length
    return gradient


def dot(first: Tensor, second: Tensor) -> Tensor:
    """The sum of the products of two (N, N), without an array of the products."""
    return torch.dot(first.reshape(-1), second.reshape(-1))

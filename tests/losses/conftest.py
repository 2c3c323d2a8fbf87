"""What the tests of the losses share: awkward batches, and the comparison with a naive reference."""

from __future__ import annotations

import pytest
import torch

from dml.types import Pairs, Tuples


def make_batch(seed, sizes=(4, 1, 3, 2, 1, 5), dimensions=6, duplicates=True, dtype=torch.float64):
    """Unequal and one-sample classes, ids above 2^24, rows of any length, some equal within and across classes."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randperm(len(sizes), generator=g) + 2**24
    y = torch.cat([ids[k].repeat(size) for k, size in enumerate(sizes)])
    x = torch.randn(len(y), dimensions, generator=g, dtype=torch.float64) + 0.7
    if duplicates:
        x[1] = x[0]  # one class
        x[-1] = x[2]  # two classes
    order = torch.randperm(len(y), generator=g)
    return x[order].to(dtype), y[order]


def value_and_gradient(function, x, *parameters):
    """A scalar function of x, and its derivatives with respect to x and the parameters (zeros where there is none)."""
    x = x.clone().requires_grad_()
    value = function(x)
    inputs = [x, *parameters]
    gradients = torch.autograd.grad(value, inputs, allow_unused=True)
    return value.detach(), [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, gradients, strict=True)]


def unit_rows(x):
    """Rows of length 1, one by one."""
    return torch.stack([row / row.norm() for row in x])


def distance(u, v):
    """The Euclidean distance of two vectors; a constant 0 where they are equal, so that its slope is 0 there."""
    return (u - v).norm() if not torch.equal(u, v) else (u - v).sum().detach()


def distance_table(x):
    """All distances as a list of lists of scalars, each from its own two vectors."""
    n = len(x)
    table = [[x.new_zeros(()) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i):
            table[i][j] = table[j][i] = distance(x[i], x[j])
    return table


def pair_lists(y, tuples=None):
    """The ordered positive pairs and the ordered negative pairs, as often as the tuples hold them."""
    if tuples is None:
        n = range(len(y))
        positives = [(i, j) for i in n for j in n if i != j and y[i] == y[j]]
        return positives, [(i, j) for i in n for j in n if y[i] != y[j]]
    if len(tuples) == 2:
        return [tuple(t) for t in tuples[0].nonzero().tolist()], [tuple(t) for t in tuples[1].nonzero().tolist()]
    a1, p, a2, n = tuples if len(tuples) == 4 else (tuples[0], tuples[1], tuples[0], tuples[2])
    keep = lambda u, v: [(i, j) for i, j in zip(u.tolist(), v.tolist(), strict=True) if i >= 0]  # noqa: E731
    return keep(a1, p), keep(a2, n)


def some_triples(y, seed, count=25):
    """Random triples, some more than once, with rows of padding."""
    g = torch.Generator().manual_seed(seed)
    n = range(len(y))
    every = [(a, p, k) for a in n for p in n for k in n if a != p and y[a] == y[p] and y[a] != y[k]]
    chosen = [every[i] for i in torch.randint(len(every), (count,), generator=g).tolist()]
    return Tuples(*torch.tensor([*chosen, chosen[0], (-1, -1, -1), (-1, -1, -1)]).T)


def some_pairs(y, seed):
    """A random half of all pairs."""
    g = torch.Generator().manual_seed(seed)
    same = y[:, None] == y
    keep = torch.rand(len(y), len(y), generator=g) < 0.5
    return Pairs(same & keep & ~torch.eye(len(y), dtype=torch.bool), ~same & keep)


def forms(y, seed):
    """One of each form in which tuples come."""
    pairs = some_pairs(y, seed)
    listed = (*pairs.positives.nonzero(as_tuple=True), *pairs.negatives.nonzero(as_tuple=True))
    return {"none": None, "triples": some_triples(y, seed), "pairs": pairs, "lists": listed}


class Check:
    """Helpers, so that a test needs to import nothing from beside it."""

    batch = staticmethod(make_batch)
    value_and_gradient = staticmethod(value_and_gradient)
    unit_rows = staticmethod(unit_rows)
    distance = staticmethod(distance)
    distance_table = staticmethod(distance_table)
    pair_lists = staticmethod(pair_lists)
    some_triples = staticmethod(some_triples)
    some_pairs = staticmethod(some_pairs)
    forms = staticmethod(forms)

    @staticmethod
    def equal(loss, naive, x, y, tuples=None, parameters=(), naive_parameters=None, rtol=1e-6, tied=False):
        """loss(x, y, tuples) and naive(x) have the same value (1e-6) and gradients (1e-4, relative).

        `tied`: the loss chooses one of several equally near samples: equal rows' gradients are compared by their sum.
        """
        value, gradients = value_and_gradient(lambda e: loss(e, y, tuples), x, *parameters)
        expected, wanted = value_and_gradient(naive, x, *(parameters if naive_parameters is None else naive_parameters))
        torch.testing.assert_close(value, expected.to(value.dtype), rtol=rtol, atol=1e-9)
        if tied:
            equal_rows = (x[:, None] == x).all(2).to(x.dtype)
            gradients, wanted = ([equal_rows @ g.to(x.dtype) for g in side] for side in (gradients, wanted))
        for got, want in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(got, want.to(got.dtype), rtol=1e-4, atol=1e-4 * float(want.abs().max()) + 1e-12)


@pytest.fixture(scope="session")
def check():
    return Check

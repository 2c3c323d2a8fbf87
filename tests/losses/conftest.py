"""What the tests of the losses share: the cases of the contract suite, awkward batches, comparison with references."""

import inspect
import re
import textwrap
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import torch

import dml.losses
from dml import discovery
from dml.losses import build_for
from dml.types import Pairs, Tuples

CLASSES, SIZE = 8, 16

# Settings worth running the contract suite with, beside the defaults, which every loss runs with.
VARIANTS = {
    "contrastive": [{"form": "squared", "reduction": "nonzero"}],
    "triplet": [{"distance": "squared", "reduction": "mean"}, {"synthesis": "loop"}],
    "margin": [{"beta_per": "none"}, {"beta_per": "all", "reduction": "sum"}],
    "multi_similarity": [{"synthesis": "loop"}, {"synthesis": "embedding_expansion"}],
    "lifted_hinge": [{"synthesis": "loop"}, {"synthesis": "loop_linear"}],
    "hphn_triplet": [{"synthesis": "loop"}, {"synthesis": "embedding_expansion"}],
    "softmax": [{"normalized": False}],
    "info_nce": [{"form": "nt_xent"}, {"form": "supcon_in"}],
    "arcface": [{"centers": 3, "cosine_margin": 0.1}],
    "trimmed": [{"loss": inner} for inner in ("contrastive", "lifted_structure", "margin", "proxy_nca", "softmax")],
}


@dataclass(frozen=True)
class Case:
    """A loss with settings, for the contract suite."""

    name: str
    part: type
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *map(str, self.settings.values())])

    def build(self, dtype: torch.dtype = torch.float32, **more: Any) -> Any:
        torch.manual_seed(0)
        settings = {**self.settings, **more}
        if self.name in discovery.names("dml.losses"):
            loss = build_for(self.name, settings, num_classes=CLASSES, embedding_size=SIZE)
        else:
            loss = self.part(**settings)
        return loss.double() if dtype == torch.float64 else loss

    @property
    def synthesises(self) -> bool:
        """Whether the loss synthesises negatives with these settings."""
        return self.settings.get("synthesis", "none") != "none"

    @property
    def lists_triples(self) -> bool:
        """Whether the loss lists all triples if no tuples are given, which takes memory for each."""
        return self.name == "trimmed" and self.settings.get("loss", "triplet") == "triplet"


def documented_example() -> type:
    """The loss in the docstring of `dml.losses`."""
    lines = [line for line in (dml.losses.__doc__ or "").splitlines() if re.match(" {4}|$", line)]
    source = textwrap.dedent("\n".join(lines))
    names: dict[str, Any] = {}
    exec(source, names)
    return next(value for value in names.values() if inspect.isclass(value) and value.__module__ == "builtins")


def cases() -> list[Case]:
    """Every loss with its defaults and its variants, and the documented example."""
    found = [(name, discovery.find("dml.losses", name)) for name in discovery.names("dml.losses")]
    found = [(name, part) for name, part in found if dml.losses.closed_form_of(name) is None]
    every = [Case(name, part, variant) for name, part in found for variant in [{}, *VARIANTS.get(name, [])]]
    return [*every, Case("documented_example", documented_example())]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test with an argument `case` runs for all cases."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", cases(), ids=str)


def contract_batch(seed=0, sizes=(4, 1, 3, 2, 1, 5, 4, 4), dtype=torch.float32):
    """Embeddings (N, SIZE) of CLASSES classes, in random order."""
    g = torch.Generator().manual_seed(seed)
    y = torch.cat([torch.full((size,), k) for k, size in enumerate(sizes)])
    x = torch.randn(len(y), SIZE, generator=g, dtype=torch.float64) + 0.5
    order = torch.randperm(len(y), generator=g)
    return x[order].to(dtype), y[order]


def run(loss, x, y, tuples=None, autocast=False):
    """The value and its gradient with respect to x."""
    x = x.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        value = loss(x, y, tuples)
    assert value.shape == ()
    assert value.requires_grad
    value.backward()
    return value.detach(), x.grad if x.grad is not None else torch.zeros_like(x)


def all_pairs(y):
    same = y[:, None] == y
    return Pairs(same & ~torch.eye(len(y), dtype=torch.bool), ~same)


def all_triples(y):
    positives, negatives = all_pairs(y)
    return Tuples(*(positives[:, :, None] & negatives[:, None]).nonzero().T)


def in_all_forms(y):
    """Every valid tuple, in each form."""
    pairs = all_pairs(y)
    listed = (*pairs.positives.nonzero(as_tuple=True), *pairs.negatives.nonzero(as_tuple=True))
    return {"none": None, "triples": all_triples(y), "pairs": pairs, "lists": listed}


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
    """A scalar function of x, and its derivatives with respect to x and the parameters (zeros if there is none)."""
    x = x.clone().requires_grad_()
    value = function(x)
    inputs = [x, *parameters]
    gradients = torch.autograd.grad(value, inputs, allow_unused=True)
    return value.detach(), [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, gradients, strict=True)]


def unit_rows(x):
    """Rows of length 1, one by one."""
    return torch.stack([row / row.norm() for row in x])


def distance(u, v):
    """The Euclidean distance of two vectors; a constant 0 if they are equal, so that its slope is 0 there."""
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
    """The ordered positive pairs and the ordered negative pairs, as often as the tuples contain them."""
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
    """Tuples in each form, not the same ones."""
    pairs = some_pairs(y, seed)
    listed = (*pairs.positives.nonzero(as_tuple=True), *pairs.negatives.nonzero(as_tuple=True))
    return {"none": None, "triples": some_triples(y, seed), "pairs": pairs, "lists": listed}


class Check:
    """Helpers, so that a test imports nothing from the files beside it."""

    classes, size = CLASSES, SIZE
    contract_batch = staticmethod(contract_batch)
    run = staticmethod(run)
    all_triples = staticmethod(all_triples)
    in_all_forms = staticmethod(in_all_forms)
    cases = staticmethod(cases)
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
    def of_pairs(name, naive, kind, duplicates=True, rescaled=lambda x: x, **settings):
        """The loss is naive(z, positives, negatives, **settings), with unit rows z, and with rows `rescaled`."""
        for seed, normalize in enumerate((True, False)):
            x, y = make_batch(seed, duplicates=duplicates)
            tuples = forms(y, seed)[kind]
            pairs, rows = pair_lists(y, tuples), unit_rows if normalize else lambda x: x
            loss = dml.losses.build(name, normalize=normalize, **settings)
            reference = lambda e, pairs=pairs, rows=rows: naive(rows(e), *pairs, **settings)  # noqa: E731
            Check.equal(loss, reference, x if normalize else rescaled(x), y, tuples)

    @staticmethod
    def of_anchors(name, costs, normalize, settings, **batch):
        """The loss is the mean of the lists costs(similarities, positives, negatives, **settings) of all anchors."""
        x, y = make_batch(0, **batch)

        def naive(sides, x):
            z, each = unit_rows(x) if normalize else x, []
            for i, s in enumerate(z @ z.T):
                near, far = ([j for j in range(len(y)) if (i, j) in pairs] for pairs in sides)
                each += costs(s, near, far, **settings) if near else []
            return sum(each) / len(each)

        loss = dml.losses.build(name, normalize=normalize, **settings)
        for tuples in forms(y, 0).values():
            Check.equal(loss, partial(naive, [set(pairs) for pairs in pair_lists(y, tuples)]), x, y, tuples)

    @staticmethod
    def equal(loss, naive, x, y, tuples=None, parameters=(), naive_parameters=None, rtol=1e-6, tied=False):
        """loss(x, y, tuples) and naive(x) have one value and gradient; `tied`: those of equal rows are summed."""
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

"""Naive references in float64, and statistics. Each policy's own test file defines its `reference`."""

import importlib.util
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from dml import discovery


def distances(embeddings, normalize=True, squared=False):
    """float64 (N, N) distances, from differences rather than from a Gram matrix."""
    x = np.asarray(embeddings, dtype=np.float64)
    if normalize:
        x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    d = ((x[:, None] - x[None]) ** 2).sum(-1)
    return d if squared else np.sqrt(d)


def similarities(embeddings, normalize=True):
    x = np.asarray(embeddings, dtype=np.float64)
    if normalize:
        x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return np.array([[float(np.dot(a, b)) for b in x] for a in x])


@cache
def policy_test(kind, name):
    """The test module of a policy. Its `reference` defines the policy; see `Naive` for flags."""
    path = Path(__file__).parent / kind / f"test_{name}.py"
    assert path.is_file(), f"{kind} {name!r} needs a test file with a function `reference`: {path}"
    spec = importlib.util.spec_from_file_location(f"reference_{kind}_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Naive:
    """The admissible positives of an anchor, and the admissible negatives given anchor and positive."""

    def __init__(self, embeddings, labels, normalize=True, squared=False, **settings):
        self.d = distances(embeddings, normalize, squared)
        self.s = similarities(embeddings, normalize)
        self.unit = distances(embeddings)
        self.labels = [int(label) for label in labels]
        self._settings = settings

    def settings(self, kind, policy):
        """The settings of a policy: its defaults, and what was given."""
        return {**discovery.defaults_of(discovery.find(f"dml.miners.{kind}", policy)), **self._settings}

    def mates(self, a):
        return [t for t in range(len(self.labels)) if t != a and self.labels[t] == self.labels[a]]

    def others(self, a):
        return [t for t in range(len(self.labels)) if self.labels[t] != self.labels[a]]

    def positives(self, policy, a):
        settings = self.settings("positives", policy)
        return set(policy_test("positives", policy).reference(self, a, settings)) if self.mates(a) else set()

    def negatives(self, policy, a, p, chosen):
        """`chosen`: all positives that the positive policy chose for the anchor, p among them."""
        settings = self.settings("negatives", policy)
        found = policy_test("negatives", policy).reference
        return set(found(self, a, p, chosen, settings)) if self.others(a) else set()

    @staticmethod
    def always(kind, policy):
        """Whether the policy chooses something for every anchor that has class mates and negatives."""
        return getattr(policy_test(kind, policy), "ALWAYS", False)

    @staticmethod
    def keeps_all(kind, policy):
        """Whether the policy chooses everything that it admits; otherwise it chooses one."""
        return getattr(policy_test(kind, policy), "KEEPS_ALL", False)


def check(tuples, naive, positives, negatives):
    """Compare triples with the definition: equal where it leaves no choice, else one of the admissible."""
    rows = [tuple(int(v) for v in row) for row in zip(*tuples, strict=True) if int(row[0]) >= 0]
    assert len(set(rows)) == len(rows)
    for a in range(len(naive.labels)):
        mine = [(p, n) for b, p, n in rows if b == a]
        used = {p for p, _ in mine}
        admissible = naive.positives(positives, a)
        if naive.keeps_all("positives", positives):
            for p in admissible:
                _check_negatives({n for q, n in mine if q == p}, naive, negatives, a, p, admissible)
            assert used <= admissible
        elif not mine:
            assert not admissible or any(not naive.negatives(negatives, a, p, {p}) for p in admissible)
        else:
            assert len(used) == 1
            assert used <= admissible
            (p,) = used
            _check_negatives({n for _, n in mine}, naive, negatives, a, p, {p})


def _check_negatives(given, naive, policy, a, p, chosen):
    admissible = naive.negatives(policy, a, p, chosen)
    if naive.keeps_all("negatives", policy):
        assert given == admissible
    else:
        assert len(given) == min(len(admissible), 1)
        assert given <= admissible


def random_batch(seed, sizes=(4, 4, 3, 5, 1, 2), dimension=8, spread=1.0, dtype=torch.float64):
    """Embeddings in loose clusters and shuffled labels, of classes of unequal sizes."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    labels = labels[torch.randperm(len(labels), generator=generator)]
    centres = torch.randn(len(sizes), dimension, generator=generator, dtype=torch.float64)
    noise = torch.randn(len(labels), dimension, generator=generator, dtype=torch.float64)
    return (centres[labels] + spread * noise).to(dtype), labels


def draws(mine, embeddings, labels):
    """Whether the miner takes random numbers."""
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    mine(embeddings, labels, generator=generator)
    return not torch.equal(generator.get_state(), before)


def triples(tuples):
    """The set of (a, p, n) of Tuples (padded or not) or Pairs."""
    if tuples[0].dtype == torch.bool:
        a, p, n = (tuples.positives[:, :, None] & tuples.negatives[:, None, :]).nonzero(as_tuple=True)
    else:
        a, p, n = tuples
    return {row for row in zip(a.tolist(), p.tolist(), n.tolist(), strict=True) if row[0] >= 0}


def chi_square(observed, probabilities):
    """The p-value of counts (rows, cells) against each row's probabilities; cells expected below 5 are pooled."""
    statistic, freedom = 0.0, 0
    for counts, probability in zip(np.asarray(observed), np.asarray(probabilities), strict=True):
        assert not counts[probability == 0].any()
        expected = probability * counts.sum()
        large = expected >= 5
        pairs = [*zip(counts[large], expected[large], strict=True)]
        if expected[~large].sum() >= 5:
            pairs.append((counts[~large].sum(), expected[~large].sum()))
        statistic += sum((o - e) ** 2 / e for o, e in pairs)
        freedom += max(len(pairs) - 1, 0)
    assert freedom > 0
    return chi2.sf(statistic, freedom)


def count(mine, embeddings, labels, calls, column, seed=0):
    """(N, N) how often each anchor's triples held each sample in that column of Tuples."""
    generator = torch.Generator().manual_seed(seed)
    size = len(labels)
    found = [mine(embeddings, labels, generator=generator) for _ in range(calls)]
    anchors, others = (torch.cat([tuples[which] for tuples in found]) for which in (0, column))
    return torch.bincount(anchors * size + others, minlength=size * size).view(size, size).numpy()


def uniform_over(sets, size):
    """Rows of probabilities, each uniform over a set; an empty set gives a row of zeros."""
    rows = np.zeros((len(sets), size))
    for row, members in zip(rows, sets, strict=True):
        row[list(members)] = 1 / max(len(members), 1)
    return rows


@pytest.fixture(scope="session")
def tools():
    helpers = (Naive, check, draws, random_batch, triples, distances, chi_square, count, uniform_over)
    return SimpleNamespace(**{helper.__name__: helper for helper in helpers})

"""Naive references: every policy as a loop over one anchor's samples, in float64, from its definition."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import chi2


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


class Naive:
    """The admissible positives of an anchor, and the admissible negatives given anchor and positive."""

    keeps_all = ("all", "multi_similarity")  # of the admissible; the other policies choose one of them

    def __init__(self, embeddings, labels, normalize=True, squared=False, **settings):
        self.d = distances(embeddings, normalize, squared)
        self.s = similarities(embeddings, normalize)
        self.unit = distances(embeddings)
        self.labels = [int(label) for label in labels]
        self.settings = {
            "margin": 0.2,
            "epsilon": 0.1,
            "cutoff": 0.5,
            "max_distance": 1.4,
            "window": False,
            **settings,
        }

    def mates(self, a):
        return [t for t in range(len(self.labels)) if t != a and self.labels[t] == self.labels[a]]

    def others(self, a):
        return [t for t in range(len(self.labels)) if self.labels[t] != self.labels[a]]

    def positives(self, policy, a):
        mates, others, d, s = self.mates(a), self.others(a), self.d[a], self.s[a]
        if not mates or policy in ("all", "random"):
            return set(mates)
        if policy == "easy":
            return {min(mates, key=lambda t: d[t])}
        if policy == "hard":
            return {max(mates, key=lambda t: d[t])}
        if policy == "semihard":
            nearest = min((d[t] for t in others), default=np.inf)
            return {t for t in mates if d[t] > nearest} or set(mates)
        hardest = max((s[t] for t in others), default=-np.inf)
        return {t for t in mates if s[t] < hardest + self.settings["epsilon"]}

    def negatives(self, policy, a, p, chosen):
        """`chosen`: all positives that the positive policy chose for the anchor, p among them."""
        others, d, s, margin = self.others(a), self.d[a], self.s[a], self.settings["margin"]
        if not others or policy in ("all", "random"):
            return set(others)
        if policy == "hard":
            return {min(others, key=lambda t: d[t])}
        if policy == "semihard_fixed":
            beyond = [t for t in others if d[t] > d[p]]
            return {min(beyond, key=lambda t: d[t])} if beyond else set()
        if policy == "semihard_random":
            if self.settings["window"]:
                return {t for t in others if d[p] < d[t] < d[p] + margin} or set(others)
            return {t for t in others if d[p] - d[t] + margin > 0}
        if policy == "distance_weighted":
            return {t for t in others if self.unit[a][t] <= self.settings["max_distance"]} or set(others)
        return {t for t in others if s[t] > min(s[q] for q in chosen) - self.settings["epsilon"]}


def check(tuples, naive, positives, negatives):
    """Compare triples with the definition: equal where it leaves no choice, else one of the admissible."""
    rows = [tuple(int(v) for v in row) for row in zip(*tuples, strict=True) if int(row[0]) >= 0]
    assert len(set(rows)) == len(rows)
    for a in range(len(naive.labels)):
        mine = [(p, n) for b, p, n in rows if b == a]
        used = {p for p, _ in mine}
        admissible = naive.positives(positives, a)
        if positives in naive.keeps_all:
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
    if policy in naive.keeps_all:
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


def triples(tuples):
    """The set of (a, p, n) of Tuples (padded or not) or Pairs."""
    if tuples[0].dtype == torch.bool:
        a, p, n = (tuples.positives[:, :, None] & tuples.negatives[:, None, :]).nonzero(as_tuple=True)
    else:
        a, p, n = tuples
    return {row for row in zip(a.tolist(), p.tolist(), n.tolist(), strict=True) if row[0] >= 0}


def chi_square(observed, probabilities):
    """The p-value of counts (rows, cells) against each row's probabilities; cells expected below 5 are pooled.

    Raises AssertionError where something of probability 0 was observed.
    """
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
    counts = torch.zeros(size * size, dtype=torch.int64)
    for _ in range(calls):
        tuples = mine(embeddings, labels, generator=generator)
        counts += torch.bincount(tuples.anchors * size + tuples[column], minlength=size * size)
    return counts.view(size, size).numpy()


def uniform_over(sets, size):
    """Rows of probabilities, each uniform over a set; an empty set gives a row of zeros."""
    rows = np.zeros((len(sets), size))
    for row, members in zip(rows, sets, strict=True):
        row[list(members)] = 1 / max(len(members), 1)
    return rows


@pytest.fixture(scope="session")
def tools():
    return SimpleNamespace(
        Naive=Naive,
        check=check,
        random_batch=random_batch,
        triples=triples,
        distances=distances,
        chi_square=chi_square,
        count=count,
        uniform_over=uniform_over,
    )

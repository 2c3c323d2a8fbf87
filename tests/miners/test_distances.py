"""Counts of the distances of drawn pairs, and the skew that `papers.noise.theory.skew` estimates from them."""

import json

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from dml.miners import PairDistances, build
from dml.types import Pairs, Tuples


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("positives", "negatives"), [("easy", "hard"), ("all", "semihard_fixed"), ("all", "all")])
def test_counts_by_hand(positives, negatives, padded, tools):
    """Loops over the tuples, and over what each tuple's anchor could have drawn."""
    embeddings, labels = tools.random_batch(0)
    tuples = build(positives=positives, negatives=negatives, padded=padded)(embeddings, labels)
    seen = PairDistances(bins=10, high=2.0)
    for _ in range(2):
        seen.update(embeddings, labels, tuples)
    d, naive = tools.distances(embeddings), tools.Naive(embeddings, labels)
    for counts, own in ((seen.negatives, naive.others), (seen.positives, naive.mates)):
        drawn, uniform = [0.0] * 10, [0.0] * 10
        for a, p, n in tools.triples(tuples):
            drawn[min(int(d[a, n if own == naive.others else p] / 0.2), 9)] += 2
            for other in own(a):
                uniform[min(int(d[a, other] / 0.2), 9)] += 2 / len(own(a))
        assert counts.drawn.tolist() == pytest.approx(drawn)
        assert counts.uniform.tolist() == pytest.approx(uniform)
        assert counts.drawn.sum() == pytest.approx(2 * len(tools.triples(tuples)))
        assert counts.uniform.sum() == pytest.approx(2 * len(tools.triples(tuples)))


def test_counts_are_plain_numbers_and_the_state_continues(tools):
    embeddings, labels = tools.random_batch(1)
    tuples = build(positives="all", negatives="all")(embeddings, labels)
    whole, half, rest = PairDistances(), PairDistances(), PairDistances()
    half.update(embeddings, labels, tuples)
    rest.load_state_dict(half.state_dict())
    rest.update(embeddings, labels, tuples)
    for _ in range(2):
        whole.update(embeddings, labels, tuples)
    assert rest.counts() == whole.counts()
    text = json.dumps(whole.counts())
    assert len(text) < 4000
    stored = json.loads(text)
    for prefix, counts in (("", whole.negatives), ("positive_", whole.positives)):
        assert stored[f"{prefix}drawn"] == counts.drawn.tolist()
        assert stored[f"{prefix}uniform"] == pytest.approx(counts.uniform.tolist(), abs=1e-3)
    with pytest.raises(ValueError, match=r"expected 200 bins, got 100"):
        whole.load_state_dict({"drawn": torch.zeros(100), "uniform": torch.zeros(100)})


@pytest.mark.parametrize("form", ["padded", "pairs", "four"])
def test_nothing_waits_for_the_device(form, tools):
    """Fake tensors have no values, so an operation that needs one on the host raises."""
    embeddings, labels = tools.random_batch(0)
    n = len(labels)
    with FakeTensorMode():
        fake, classes = torch.empty(embeddings.shape), torch.empty(n, dtype=torch.int64)
        triple = Tuples(*(torch.empty(3 * n, dtype=torch.int64) for _ in range(3)))
        tuples = {
            "padded": triple,
            "pairs": Pairs(torch.empty(n, n, dtype=torch.bool), torch.empty(n, n, dtype=torch.bool)),
            "four": (*triple[:2], *triple[:2]),
        }
        seen = PairDistances()
        seen.update(fake, classes, tuples[form])
        assert seen.negatives.drawn.shape == (100,)
        with pytest.raises(RuntimeError):
            bool(classes.sum())

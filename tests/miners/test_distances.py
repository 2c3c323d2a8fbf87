"""Counts of the distances of drawn pairs, and the skew that `dml.miners.skew` estimates from them."""

import json

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from dml.miners import PairDistances, build
from dml.types import Pairs, Tuples
from papers.noise.theory import skew as eta


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


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


def test_four_tensors(tools):
    embeddings, labels = tools.random_batch(1)
    a, p, n = build(positives="easy", negatives="hard")(embeddings, labels)
    three, four = PairDistances(), PairDistances()
    three.update(embeddings, labels, (a, p, n))
    four.update(embeddings, labels, (a[:2], p[:2], a, n))
    assert torch.equal(three.negatives.drawn, four.negatives.drawn)
    assert four.positives.drawn.sum() == four.positives.uniform.sum() == 2


def test_labels_of_any_integer_type(tools):
    embeddings, labels = tools.random_batch(1)
    tuples = build(positives="easy", negatives="hard")(embeddings, labels)
    kept = torch.ones_like(labels, dtype=torch.bool)
    long, short = PairDistances(), PairDistances()
    long.update(embeddings, labels, tuples, kept)
    short.update(embeddings, labels.int(), tuples, kept)
    assert short.counts() == long.counts()


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


def test_the_paper_s_conjecture(tools):
    """Uniform drawing has eta 1; random semi-hard less than fixed semi-hard (eta_rand < eta_fixed)."""
    skew = {}
    for negatives in ("random", "semihard_random", "semihard_fixed"):
        mine, seen = build(positives="all", negatives=negatives), PairDistances()
        draws = generator()
        for seed in range(40):
            embeddings, labels = tools.random_batch(seed, sizes=(5,) * 12, dimension=16, spread=0.8)
            seen.update(embeddings, labels, mine(embeddings, labels, generator=draws))
        skew[negatives] = eta.estimate_eta(*seen.negatives)
    assert skew["random"].low == 1
    assert skew["random"].eta < 1.05
    assert skew["random"].high < skew["semihard_random"].low
    assert skew["semihard_random"].high < skew["semihard_fixed"].low


def test_distances_beyond_the_last_bin_and_settings():
    seen = PairDistances(bins=4, high=1.0, normalize=False)
    embeddings, labels = torch.tensor([[0.0], [0.1], [9.0]]), torch.tensor([0, 0, 1])
    seen.update(embeddings, labels, build(positives="all", negatives="all", normalize=False)(embeddings, labels))
    assert seen.negatives.drawn.tolist() == [0, 0, 0, 2]
    assert seen.positives.drawn.tolist() == [2, 0, 0, 0]
    assert seen.edges.tolist() == [0, 0.25, 0.5, 0.75, 1]
    with pytest.raises(ValueError, match=r"bins: .*got 0"):
        PairDistances(bins=0)
    with pytest.raises(ValueError, match=r"high: .*got 0"):
        PairDistances(high=0)


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

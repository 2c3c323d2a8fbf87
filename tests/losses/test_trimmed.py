import math

import pytest
import torch

import dml.losses


def least(costs, keep):
    """The mean of the lowest share of a list of scalars."""
    k = math.ceil(keep * len(costs))
    return torch.stack(sorted(costs, key=lambda c: float(c.detach()))[:k]).sum() / max(k, 1)


@pytest.mark.parametrize("keep", [0.3, 0.75, 1.0])
@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
def test_triplets(check, keep, kind):
    x, y = check.batch(0)
    tuples = check.forms(y, 0)[kind]
    if kind == "triples":
        triples = [t for t in torch.stack(tuples, 1).tolist() if t[0] >= 0]
    else:
        positives, negatives = check.pair_lists(y, tuples)
        triples = [(a, p, n) for a, p in positives for b, n in negatives if a == b]

    def naive(e):
        table = check.distance_table(check.unit_rows(e))
        return least([torch.relu(table[a][p] - table[a][n] + 0.4) for a, p, n in triples], keep)

    check.equal(dml.losses.build("trimmed", loss={"name": "triplet", "margin": 0.4}, keep=keep), naive, x, y, tuples)


@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
def test_pairs_count_as_often_as_they_are_drawn(check, kind):
    x, y = check.batch(1, duplicates=False)
    tuples = check.forms(y, 0)[kind]
    positives, negatives = check.pair_lists(y, tuples)

    def naive(e):
        table = check.distance_table(check.unit_rows(e))
        costs = [torch.relu(table[i][j] - 1.2 + 0.3) for i, j in positives]
        return least(costs + [torch.relu(1.2 - table[i][j] + 0.3) for i, j in negatives], 0.8)

    wrapped = {"name": "margin", "settings": {"margin": 0.3, "beta_per": "none"}}
    check.equal(dml.losses.build("trimmed", loss=wrapped, keep=0.8), naive, x, y, tuples)


@pytest.mark.parametrize("name", ["contrastive", "lifted_structure", "softmax", "proxy_nca"])
def test_with_all_kept_it_is_the_mean_of_the_wrapped_loss(check, name):
    x, y = check.batch(2)
    y = y - 2**24
    settings = {"num_classes": 6, "embedding_size": 6} if name in ("softmax", "proxy_nca") else {}
    trimmed = dml.losses.build("trimmed", loss=name, keep=1.0, num_classes=6, embedding_size=6).double()
    plain = dml.losses.build(name, **settings).double()
    plain.load_state_dict(trimmed.loss.state_dict())
    check.equal(trimmed, lambda e: plain(e, y), x, y)

import pytest
import torch

import dml.losses
from dml.losses import _triplets, quadruplet

pytestmark = pytest.mark.slow


def naive(check, y, positives, triples, margin, margin2, normalize):
    n = range(len(y))
    others = {c: [(k, l) for k in n for l in n if y[k] != y[l] and y[k] != c and y[l] != c] for c in set(y.tolist())}

    def of(x):
        table = check.distance_table(check.unit_rows(x) if normalize else x)
        table = torch.stack([torch.stack(row) for row in table]).square()
        first = [torch.relu(table[a, p] - table[a, k] + margin) for a, p, k in triples]
        second = [
            torch.relu(table[a, p] - table[k, l] + margin2)
            for a, p in sorted(set(positives))
            for k, l in others[int(y[a])]
        ]
        value = 0 * x.sum()
        for costs in (first, second):
            if costs:
                value = value + torch.stack(costs).mean()
        return value

    return of


@pytest.mark.parametrize("kind", ["none", "triples", "pairs"])
@pytest.mark.parametrize("way", ["sweep", "sort"])
def test_against_a_loop(check, monkeypatch, kind, way):
    if way == "sort":
        for module in (_triplets, quadruplet):
            monkeypatch.setattr(module, "may_look", lambda tensor: False)
    for seed, normalize in enumerate((True, False)):
        x, y = check.batch(seed, sizes=(3, 1, 3, 2, 2))
        tuples = check.forms(y, seed)[kind]
        positives, negatives = check.pair_lists(y, tuples)
        if kind == "triples":
            triples = [t for t in torch.stack(tuples, 1).tolist() if t[0] >= 0]
        else:
            triples = [(a, p, n) for a, p in positives for b, n in negatives if a == b]
        loss = dml.losses.build("quadruplet", margin=0.3, margin2=0.2, normalize=normalize)
        check.equal(loss, naive(check, y, positives, triples, 0.3, 0.2, normalize), x, y, tuples)


@pytest.mark.parametrize("way", ["host", "device"])
def test_with_two_classes_rounding_is_no_gradient(check, monkeypatch, way):
    """No quadruplet exists, so the loss is that of the triplets, at the size at which float32 distances differ."""
    if way == "device":
        for module in (_triplets, quadruplet):
            monkeypatch.setattr(module, "may_look", lambda tensor: False)
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(256, 128, generator=g), torch.arange(256) % 2
    both, triplets = (
        check.run(dml.losses.build(name, **settings), x, y)
        for name, settings in (("quadruplet", {}), ("triplet", {"distance": "squared", "reduction": "mean"}))
    )
    torch.testing.assert_close(both[0], triplets[0])
    torch.testing.assert_close(both[1], triplets[1], rtol=1e-5, atol=1e-8)

from functools import partial

import pytest
import torch

import dml.losses

pytestmark = pytest.mark.slow


def naive(check, y, positives, negatives, beta, reduction, margin, normalize, x):
    table = check.distance_table(check.unit_rows(x) if normalize else x)
    boundary = beta[y] if len(beta) > 1 else beta.expand(len(y))
    costs = [torch.relu(table[i][j] - boundary[i] + margin) for i, j in positives]
    costs += [torch.relu(boundary[i] - table[i][j] + margin) for i, j in negatives]
    active = sum(float(c.detach()) > 0 for c in costs)
    return torch.stack(costs).sum() / {"mean": len(costs), "nonzero": max(active, 1), "sum": 1}[reduction]


@pytest.mark.parametrize("beta_per", ["class", "all", "none"])
@pytest.mark.parametrize("reduction", ["mean", "nonzero", "sum"])
@pytest.mark.parametrize("kind", ["none", "triples", "pairs", "lists"])
def test_against_a_loop(check, beta_per, reduction, kind):
    for seed, normalize in enumerate((True, False)):
        x, y = check.batch(seed)
        y = y - 2**24
        tuples = check.forms(y, seed)[kind]
        loss = dml.losses.build(
            "margin", margin=0.3, beta_per=beta_per, num_classes=6, reduction=reduction, normalize=normalize
        ).double()
        with torch.no_grad():
            loss.beta += torch.linspace(-0.2, 0.2, len(loss.beta))
        learned = () if beta_per == "none" else (loss.beta,)
        reference = partial(naive, check, y, *check.pair_lists(y, tuples), loss.beta, reduction, 0.3, normalize)
        check.equal(loss, reference, x, y, tuples, parameters=learned)


@pytest.mark.parametrize("beta_per", ["class", "all", "none"])
def test_beta_is_part_of_the_checkpoint_learned_or_not(beta_per):
    saved = dml.losses.build("margin", beta=1.4, beta_per=beta_per, num_classes=3).state_dict()
    assert "beta" in saved
    fresh = dml.losses.build("margin", beta=0.9, beta_per=beta_per, num_classes=3)
    fresh.load_state_dict(saved)
    assert torch.all(fresh.beta == 1.4)
    assert len(list(fresh.parameters())) == (beta_per != "none")

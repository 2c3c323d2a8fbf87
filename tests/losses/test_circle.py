import pytest
import torch

import dml.losses


def naive(check, y, tuples, margin, gamma, normalize):
    positives, negatives = (set(pairs) for pairs in check.pair_lists(y, tuples))

    def of(x):
        z = check.unit_rows(x) if normalize else x
        s = z @ z.T
        each = []
        for i in range(len(y)):
            near, far = ([j for j in range(len(y)) if (i, j) in pairs] for pairs in (positives, negatives))
            if near and far:
                pull = sum(
                    torch.exp(-gamma * torch.relu(1 + margin - s[i, p].detach()) * (s[i, p] - 1 + margin)) for p in near
                )
                push = sum(torch.exp(gamma * torch.relu(s[i, n].detach() + margin) * (s[i, n] - margin)) for n in far)
                each.append(torch.log(1 + pull * push))
        return sum(each) / len(each)

    return of


@pytest.mark.parametrize(("margin", "gamma", "normalize"), [(0.4, 80.0, True), (0.25, 10.0, True), (0.4, 0.3, False)])
def test_against_a_loop(check, margin, gamma, normalize):
    x, y = check.batch(0)
    loss = dml.losses.build("circle", margin=margin, gamma=gamma, normalize=normalize)
    for tuples in check.forms(y, 0).values():
        check.equal(loss, naive(check, y, tuples, margin, gamma, normalize), x, y, tuples)

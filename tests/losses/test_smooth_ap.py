import pytest
import torch

import dml.losses


def naive(check, y, tuples, temperature, normalize):
    positives, negatives = (set(pairs) for pairs in check.pair_lists(y, tuples))

    def of(x):
        z = check.unit_rows(x) if normalize else x
        s = z @ z.T
        each = []
        for i in range(len(y)):
            near, far = ([j for j in range(len(y)) if (i, j) in pairs] for pairs in (positives, negatives))
            terms = []
            for p in near:
                step = lambda j, p=p: torch.sigmoid((s[i, j] - s[i, p]) / temperature)  # noqa: B023, E731
                right = 1 + sum(step(j) for j in near if j != p)
                terms.append(right / (right + sum(step(j) for j in far)))
            if near:
                each.append(1 - sum(terms) / len(terms))
        return sum(each) / len(each)

    return of


@pytest.mark.parametrize(("temperature", "normalize"), [(0.05, True), (0.3, True), (2.0, False)])
def test_against_a_loop(check, temperature, normalize):
    x, y = check.batch(0)
    loss = dml.losses.build("smooth_ap", temperature=temperature, normalize=normalize)
    for tuples in check.forms(y, 0).values():
        check.equal(loss, naive(check, y, tuples, temperature, normalize), x, y, tuples)

import pytest
import torch

import dml.losses


def naive(check, y, tuples, ks, temperature, step_temperature, normalize):
    positives, negatives = (set(pairs) for pairs in check.pair_lists(y, tuples))

    def of(x):
        z = check.unit_rows(x) if normalize else x
        s = z @ z.T
        each = []
        for i in range(len(y)):
            near, far = ([j for j in range(len(y)) if (i, j) in pairs] for pairs in (positives, negatives))
            recall = 0
            for p in near:
                beside = [j for j in near if j != p] + far
                rank = 1 + sum(torch.sigmoid((s[i, j] - s[i, p]) / temperature) for j in beside)
                recall = recall + sum(torch.sigmoid((k - rank) / step_temperature) / min(k, len(near)) for k in ks)
            if near:
                each.append(1 - recall / len(ks))
        return sum(each) / len(each)

    return of


@pytest.mark.parametrize("sizes", [(4, 1, 3, 2, 1, 5), (2,) * 8, (9, 4)])
@pytest.mark.parametrize(
    ("ks", "temperature", "step_temperature", "normalize"),
    [((1, 2, 4, 8, 16), 0.05, 1.0, True), ((1,), 0.3, 0.3, True), ((2, 3), 2.0, 2.0, False)],
)
def test_against_a_loop(check, sizes, ks, temperature, step_temperature, normalize):
    x, y = check.batch(0, sizes=sizes, duplicates=False)
    settings = {"temperature": temperature, "step_temperature": step_temperature, "normalize": normalize}
    loss = dml.losses.build("recall_at_k", ks=ks, **settings)
    for tuples in check.forms(y, 0).values():
        check.equal(loss, naive(check, y, tuples, ks, **settings), x, y, tuples)

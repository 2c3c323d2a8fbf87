import pytest
import torch

import dml.losses


def naive(check, y, tuples, temperature, form, normalize):
    positives, negatives = (set(pairs) for pairs in check.pair_lists(y, tuples))

    def of(x):
        z = check.unit_rows(x) if normalize else x
        e = torch.exp(z @ z.T / temperature)
        each = []
        for i in range(len(y)):
            near, far = ([j for j in range(len(y)) if (i, j) in pairs] for pairs in (positives, negatives))
            rest = sum(e[i, n] for n in far)
            everything = rest + sum(e[i, p] for p in set(near) - set(far)) if near else None
            if form == "nt_xent":
                each += [-torch.log(e[i, p] / (e[i, p] + rest)) for p in near]
            elif near and form == "supcon_out":
                each.append(-sum(torch.log(e[i, p] / everything) for p in near) / len(near))
            elif near:
                each.append(-torch.log(sum(e[i, p] for p in near) / len(near) / everything))
        return sum(each) / len(each)

    return of


@pytest.mark.parametrize("form", ["nt_xent", "supcon_out", "supcon_in"])
@pytest.mark.parametrize(("temperature", "normalize"), [(0.1, True), (0.5, True), (2.0, False)])
def test_against_a_loop(check, form, temperature, normalize):
    x, y = check.batch(0)
    loss = dml.losses.build("info_nce", temperature=temperature, form=form, normalize=normalize)
    for tuples in check.forms(y, 0).values():
        check.equal(loss, naive(check, y, tuples, temperature, form, normalize), x, y, tuples)

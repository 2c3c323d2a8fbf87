import pytest
import torch


def costs(s, near, far, ks, temperature, step_temperature):
    recall = 0
    for p in near:
        beside = [j for j in near if j != p] + far
        rank = 1 + sum(torch.sigmoid((s[j] - s[p]) / temperature) for j in beside)
        recall = recall + sum(torch.sigmoid((k - rank) / step_temperature) / min(k, len(near)) for k in ks)
    return [1 - recall / len(ks)]


@pytest.mark.parametrize("sizes", [(4, 1, 3, 2, 1, 5), (2,) * 8, (9, 4)])
@pytest.mark.parametrize(
    ("ks", "temperature", "step_temperature", "normalize"),
    [((1, 2, 4, 8, 16), 0.05, 1.0, True), ((1,), 0.3, 0.3, True), ((2, 3), 2.0, 2.0, False)],
)
def test_against_a_loop(check, sizes, ks, temperature, step_temperature, normalize):
    settings = {"ks": ks, "temperature": temperature, "step_temperature": step_temperature}
    check.of_anchors("recall_at_k", costs, normalize, settings, sizes=sizes, duplicates=False)

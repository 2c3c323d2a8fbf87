import pytest
import torch


def costs(s, near, far, temperature):
    terms = []
    for p in near:
        step = lambda j, p=p: torch.sigmoid((s[j] - s[p]) / temperature)  # noqa: E731
        right = 1 + sum(step(j) for j in near if j != p)
        terms.append(right / (right + sum(step(j) for j in far)))
    return [1 - sum(terms) / len(terms)]


@pytest.mark.parametrize(("temperature", "normalize"), [(0.05, True), (0.3, True), (2.0, False)])
def test_against_a_loop(check, temperature, normalize):
    check.of_anchors("smooth_ap", costs, normalize, {"temperature": temperature})

import pytest
import torch


def costs(s, near, far, margin, gamma):
    pull = sum(torch.exp(-gamma * torch.relu(1 + margin - s[p].detach()) * (s[p] - 1 + margin)) for p in near)
    push = sum(torch.exp(gamma * torch.relu(s[n].detach() + margin) * (s[n] - margin)) for n in far)
    return [torch.log(1 + pull * push)] if far else []


@pytest.mark.parametrize(("margin", "gamma", "normalize"), [(0.4, 80.0, True), (0.25, 10.0, True), (0.4, 0.3, False)])
def test_against_a_loop(check, margin, gamma, normalize):
    check.of_anchors("circle", costs, normalize, {"margin": margin, "gamma": gamma})

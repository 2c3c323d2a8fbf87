import pytest
import torch


def costs(s, near, far, temperature, form):
    e = torch.exp(s / temperature)
    rest = sum(e[n] for n in far)
    everything = rest + sum(e[p] for p in set(near) - set(far))
    if form == "nt_xent":
        return [-torch.log(e[p] / (e[p] + rest)) for p in near]
    if form == "supcon_out":
        return [-sum(torch.log(e[p] / everything) for p in near) / len(near)]
    return [-torch.log(sum(e[p] for p in near) / len(near) / everything)]


@pytest.mark.parametrize("form", ["nt_xent", "supcon_out", "supcon_in"])
@pytest.mark.parametrize(("temperature", "normalize"), [(0.1, True), (0.5, True), (2.0, False)])
def test_against_a_loop(check, form, temperature, normalize):
    check.of_anchors("info_nce", costs, normalize, {"temperature": temperature, "form": form})

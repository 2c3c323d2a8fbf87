import pytest
import torch

import dml.losses


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_against_a_loop(check, normalize, normalized):
    x, y = check.batch(0)
    y = y - 2**24
    loss = dml.losses.build(
        "softmax", num_classes=6, embedding_size=6, temperature=0.3, normalized=normalized, normalize=normalize
    ).double()

    def naive(e):
        total = 0
        for row, label in zip(e, y.tolist(), strict=True):
            z = row / row.norm() if normalize else row
            logits = [(z @ (w / w.norm()) if normalized else z @ w) / 0.3 for w in loss.proxies]
            if not normalized:
                logits = [logit + b / 0.3 for logit, b in zip(logits, loss.bias, strict=True)]
            total = total - torch.log(torch.exp(logits[label]) / sum(map(torch.exp, logits)))
        return total / len(e)

    check.equal(loss, naive, x, y, parameters=tuple(loss.parameters()))

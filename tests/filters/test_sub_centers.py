"""Sub-centres' dropping: against a loop in float64, on classes whose wrong labels have a centre of their own."""

import math

import pytest
import torch

import dml.filters
import dml.losses


def naive(centers, batches, angle, warm_up, fading=0.9):
    """What is kept of each batch: counts by class and centre, faded once for each class of a batch."""
    counts, found = {}, []
    for step, (x, y, _) in enumerate(batches):
        cosines = [
            [float(torch.cosine_similarity(v.double(), w.double(), dim=0)) for w in centers[c]]
            for v, c in zip(x, y.tolist(), strict=True)
        ]
        for c in set(y.tolist()):
            counts[c] = [fading * n for n in counts.get(c, [0.0] * len(centers[c]))]
        for c, own in zip(y.tolist(), cosines, strict=True):
            counts[c][own.index(max(own))] += 1
        to_dominant = [own[counts[c].index(max(counts[c]))] for c, own in zip(y.tolist(), cosines, strict=True)]
        kept = [step < warm_up or value >= math.cos(math.radians(angle)) for value in to_dominant]
        found.append(kept if any(kept) else [value == max(to_dominant) for value in to_dominant])
    return found


@pytest.mark.parametrize(("angle", "warm_up"), [(75, 0), (60, 4), (100, 2), (1, 0)])
def test_against_a_loop(tools, angle, warm_up):
    keep = tools.ready(dml.filters.build("sub_centers", angle=angle, warm_up=warm_up))
    batches = list(tools.noisy_batches(12))
    found = [keep(x, y).tolist() for x, y, _ in batches]
    assert found == naive(keep._centers[0].detach(), batches, angle, warm_up)


def test_wrong_labels_are_left_out_once_the_loss_has_learned(tools):
    torch.manual_seed(0)
    loss = dml.losses.build("arcface", num_classes=5, embedding_size=6, centers=3, scale=8.0, margin=0.1)
    keep = dml.filters.build("sub_centers", warm_up=0)
    keep.watch(loss)
    optimizer = torch.optim.Adam(loss.parameters(), 0.05)
    hits = []
    for x, y, wrong in tools.noisy_batches(200):
        kept = keep(x, y)
        optimizer.zero_grad()
        loss(x, y).backward()
        optimizer.step()
        hits.append((kept != wrong).double().mean())
    assert torch.stack(hits[100:]).mean() > 0.9

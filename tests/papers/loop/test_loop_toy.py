"""LoOp's toy: its distances, its data, and what training changes."""

import numpy as np
import pytest
import torch

from dml.report.page.blocks import Table
from papers.loop.sections.loop_toy import LoopToy
from papers.loop.theory import loop_toy


def unit(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(*shape, generator=g, dtype=torch.float64), dim=-1)


def test_distances_seed_by_seed():
    x1, x2 = unit(3, 5, 3), unit(3, 5, 3, seed=1)
    for arm, distance in loop_toy.DISTANCES.items():
        found = distance(x1, x2)
        assert found.shape == (3, 5, 5)
        for seed in range(3):
            alone = distance(x1[seed : seed + 1], x2[seed : seed + 1])[0]
            torch.testing.assert_close(found[seed], alone, msg=arm)


def test_loop_is_the_least_and_one_end_the_largest():
    x1, x2 = unit(2, 6, 3), unit(2, 6, 3, seed=1)
    one, four, loop = (loop_toy.DISTANCES[arm](x1, x2) for arm in ("one end", "four ends", "LoOp"))
    assert (loop <= four + 1e-5).all()
    assert (four <= one + 1e-5).all()
    by_hand = min((a - b).norm() for a in (x1[0, 2], x2[0, 2]) for b in (x1[0, 4], x2[0, 4]))
    assert four[0, 2, 4].item() == pytest.approx(by_hand.item(), abs=1e-6)


def test_training_groups_the_classes_and_the_arms_start_alike():
    runs = loop_toy.runs()
    by_arm = {arm: [run for run in runs if run.arm == arm] for arm in loop_toy.ARMS}
    assert len({len(own) for own in by_arm.values()}) == 1
    seen = {arm: np.mean([run.seen for run in own]) for arm, own in by_arm.items()}
    assert min(seen[arm] for arm in loop_toy.ARMS[1:]) > seen["untrained"] + 0.15
    for run in runs:
        np.testing.assert_allclose(np.linalg.norm(run.embeddings, axis=1), 1, atol=1e-5)
        assert 0 <= run.gain < 0.3
        assert run.embeddings.shape == (len(run.labels), 3)


def test_the_table_compares_loop_with_both():
    frame = next(b for b in LoopToy().content() if isinstance(b, Table)).frame.set_index("arm")
    assert list(frame.index) == list(loop_toy.ARMS)
    lead = frame.loc["LoOp", "seen"] - frame.loc["four ends", "seen"]
    assert frame.loc["four ends", "loop seen"] == pytest.approx(lead)
    assert frame.loc["four ends", "loop seen low"] < lead < frame.loc["four ends", "loop seen high"]
    assert np.isnan(frame.loc["LoOp", "loop seen"])

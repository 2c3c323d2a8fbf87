"""A trial with a filter: resumed, logged, and compared with what was flipped."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
import torch

from dml.miners.oracle_pairs import OraclePairs
from dml.training.loop import Training
from dml.training.resuming import Filtering
from dml.types import FilterSpec, MinerSpec

pytestmark = pytest.mark.slow

PRISM = FilterSpec("prism", {"rate": 0.3, "memory": 100, "window": 3, "warm_up": 2})


DROPPING = FilterSpec("sub_centers", {"angle": 88, "warm_up": 2})
VMF = replace(PRISM, name="prism_vmf")


@pytest.mark.parametrize(
    ("part", "loss", "settings"),
    [
        (PRISM, "triplet", {}),
        (VMF, "softmax", {}),
        (PRISM, "info_nce", {"memory": {"size": 50, "warm_up": 2}}),
        (DROPPING, "arcface", {"centers": 3, "sampled": 0.9}),
    ],
)
def test_resumed_equals_uninterrupted_bit_for_bit(make_spec, data_root, tmp_path, finish, part, loss, settings):
    mined = "random" if loss == "triplet" else None
    spec = replace(make_spec(loss, mined, "distance_weighted", loss_settings=settings), filter=part)
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    while True:  # a new object for each evaluation, as in a new process
        resumed = Training(spec, data_root, tmp_path / "broken")
        if resumed.finished:
            break
        resumed.advance()
        resumed.close()
    one, two = whole.result(), resumed.result()
    assert one.scores == two.scores
    assert one.counts == two.counts
    assert {**one.diagnostics, "images_per_second": 0} == {**two.diagnostics, "images_per_second": 0}
    states = [t.model.state_dict() for t in (whole, resumed)]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    assert 0 < one.diagnostics["left_out_precision"] <= 1
    assert 0 < one.diagnostics["left_out_recall"] <= 1
    assert 0.5 < one.diagnostics["kept_share"] < 1


def test_a_filter_that_keeps_all_changes_no_number(make_spec, data_root, tmp_path, finish):
    spec = make_spec()
    results = [
        finish(Training(s, data_root, tmp_path / name)).result()
        for name, s in {"none": spec, "all": replace(spec, filter=replace(PRISM, settings={"rate": 0.0}))}.items()
    ]
    assert results[0].scores == results[1].scores
    assert "kept_share" not in results[0].diagnostics
    assert results[1].diagnostics["kept_share"] == 1
    assert "left_out_precision" not in results[1].diagnostics
    assert results[1].diagnostics["left_out_recall"] == 0


class Odd(torch.nn.Module):
    """Leaves odd labels out."""

    stats = MappingProxyType({})

    def forward(self, embeddings, labels):
        return labels % 2 == 0


def test_agreement_counts_every_draw():
    filtering = Filtering(Odd(), samples=4, device=torch.device("cpu"))
    labels = torch.tensor([0, 1, 2, 3])
    for positions in ([0, 1, 1, 3], [3, 2, 2, 1]):
        rows = torch.tensor(positions)
        filtering(torch.zeros(4, 2), labels[rows], rows)
    flipped = np.array([True, True, False, False])
    assert filtering.agreement(flipped) == {"left_out_precision": 3 / 5, "left_out_recall": 3 / 4}
    assert filtering.agreement(np.zeros(4, dtype=bool)) == {"left_out_precision": 0.0}
    assert filtering.agreement(None) == {}


@pytest.mark.parametrize("filtered", [False, True])
def test_a_miner_that_asks_is_told_the_true_labels(make_spec, data_root, tmp_path, monkeypatch, filtered):
    told = []

    def call(miner, embeddings, given, truth, own=OraclePairs.__call__):
        told.append((given, truth))
        return own(miner, embeddings, given, truth)

    monkeypatch.setattr(OraclePairs, "__call__", call)
    miner = MinerSpec(name="dml.miners.oracle_pairs.OraclePairs", settings={"right": "positives"})
    training = Training(replace(make_spec(), miner=miner, filter=PRISM if filtered else None), data_root, tmp_path)
    drawn = []
    monkeypatch.setattr(training._batches, "next", lambda own=training._batches.next: drawn.append(own()) or drawn[-1])
    training.advance()
    truth = torch.from_numpy(training.data.labels("coarse", training.data.rows))
    assert training.data.flipped.any()
    sizes = set()
    for batch, (given, true) in zip(drawn, told, strict=True):
        whole = list(zip(batch.labels.tolist(), truth[batch.positions].tolist(), strict=True))
        kept = list(zip(given.tolist(), true.tolist(), strict=True))
        sizes.add(len(kept))
        rest = iter(whole)
        assert all(pair in rest for pair in kept)  # in the batch's order
    assert (len(sizes) > 1) == filtered  # samples that the filter leaves out are removed

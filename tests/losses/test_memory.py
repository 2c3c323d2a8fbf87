"""The memory of pair losses: against the loss of one batch whose anchors are its first rows, and in checkpoints."""

import copy
import io
from inspect import signature

import pytest
import torch

import dml.losses
from dml import discovery
from dml.types import Pairs

ABLE = [n for n in discovery.names("dml.losses") if "memory" in signature(discovery.find("dml.losses", n)).parameters]
SETTINGS = {
    "margin": [{"beta_per": "none"}, {"beta_per": "class", "num_classes": 6}],
    "info_nce": [{}, {"form": "nt_xent"}, {"form": "supcon_in"}],
    "contrastive": [{}, {"form": "squared"}],
    "triplet": [{}, {"distance": "squared"}],
    "smooth_ap": [{"temperature": 0.1}],
    "recall_at_k": [{"temperature": 0.1}],
}
CASES = [(name, settings) for name in ABLE for settings in SETTINGS.get(name, [{}])]


def batches(check, count, sizes=(4, 2, 3)):
    for seed in range(count):
        x, y = check.batch(seed, sizes=sizes, duplicates=False)
        yield x, y % 2**24


def of_one_batch(loss, x, y, rows, others):
    """The loss of x beside earlier rows, as that of one batch with only the first rows as anchors."""
    every, labels, n = torch.cat((x, rows)), torch.cat((y, others)), len(x)
    same = labels[:, None] == labels
    anchors = (torch.arange(len(labels)) < n)[:, None]
    value = loss(every, labels, Pairs((same & anchors).fill_diagonal_(False), ~same & anchors))
    # Over all samples, of which the earlier ones are no anchors.
    return value * len(labels) / n if isinstance(loss, dml.losses.MultiSimilarity) else value


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_the_loss_is_that_of_the_batch_beside_the_earlier_samples(check, name, settings, normalize):
    if name == "histogram":
        pytest.skip("counts a pair of two anchors in both directions: test_histogram_of_a_memory")
    plain, loss = (
        dml.losses.build(name, **settings, normalize=normalize, **more).double()
        for more in ({}, {"memory": {"size": 12, "warm_up": 1}})
    )
    seen = []
    for step, (x, y) in enumerate(batches(check, 5)):
        rows = torch.cat([x[:0], *(e for e, _ in seen)])[-12:]
        others = torch.cat([y[:0], *(l for _, l in seen)])[-12:]
        naive = lambda e, y=y, rows=rows, others=others: of_one_batch(plain, e, y, rows, others)  # noqa: E731
        parameters, twins = list(loss.parameters()), list(plain.parameters())
        check.equal(loss, naive, x, y, parameters=parameters, naive_parameters=twins)
        if step >= 1:
            seen.append((x, y))


@pytest.mark.parametrize("warm_up", [0, 9])
def test_listed_triples_are_not_crossed_with_each_other(check, warm_up):
    loss = dml.losses.build("triplet", margin=2.0, reduction="sum", memory={"size": 9, "warm_up": warm_up}).double()
    (z, w), (x, y) = batches(check, 2)
    loss(z, w)
    a, p = (y[:, None] == y).fill_diagonal_(False).nonzero().T
    n = torch.stack([(y != y[i]).nonzero()[j % 2, 0] for i, j in zip(a, p, strict=True)])
    units, others = (torch.nn.functional.normalize(rows) for rows in (x, torch.cat((x, z)) if warm_up == 0 else x))
    d, labels = torch.cdist(units, others), torch.cat((y, w))[: len(others)]
    positives, negatives = y[:, None] == labels, y[:, None] != labels
    positives[:, : len(y)] = negatives[:, : len(y)] = False
    positives[a, p] = negatives[a, n] = True
    batch = torch.arange(len(others)) < len(y)
    every = positives[:, :, None] & negatives[:, None] & ~(batch[:, None] & batch)
    every[a, p, n] = True
    torch.testing.assert_close(loss(x, y, (a, p, n)), (d[:, :, None] - d[:, None] + 2.0).relu()[every].sum())


def test_histogram_of_a_memory(check):
    loss = dml.losses.build("histogram", memory={"size": 9, "warm_up": 0})
    (x, y), (z, w) = batches(check, 2)
    loss(x, y)
    value = loss(z, w)
    a, b = torch.nn.functional.normalize(z), torch.nn.functional.normalize(x)
    s = torch.cat((a @ a.T, a @ b.T), 1)
    same = w[:, None] == torch.cat((w, y))
    other = ~same
    same[:, : len(w)].fill_diagonal_(False)
    nodes = torch.linspace(-1, 1, 201, dtype=x.dtype)
    of = [(1 - (s[m][:, None] - nodes).abs() * 100).clamp(min=0).mean(0) for m in (same, other)]
    torch.testing.assert_close(value, (of[1] * of[0].cumsum(0)).sum())


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_restored_state_continues_bit_for_bit(check, at):
    made = lambda: dml.losses.build("info_nce", memory={"size": 20, "warm_up": 1})  # noqa: E731
    every = list(batches(check, 5))
    whole, first, second = made(), made(), made()
    expected = [check.run(whole, x, y) for x, y in every]
    found = [check.run(first, x, y) for x, y in every[:at]]
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    second.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    found += [check.run(second, x, y) for x, y in every[at:]]
    assert all(
        torch.equal(a, b) for one, two in zip(expected, found, strict=True) for a, b in zip(one, two, strict=True)
    )


def test_a_row_that_is_not_finite_is_not_remembered(check):
    loss = dml.losses.build("contrastive", memory={"size": 50, "warm_up": 0})
    (x, y), (z, w), _ = batches(check, 3)
    broken = x.clone()
    broken[1] = torch.nan
    assert loss(broken, y).isnan()
    assert loss(z, w).isfinite()
    assert int(loss.memory._ring[0].written) == len(x) - 1 + len(z)


def test_in_evaluation_mode_batches_are_compared_and_not_remembered(check):
    loss = dml.losses.build("info_nce", memory={"size": 9, "warm_up": 1})
    (a, b), (c, d), (e, f) = batches(check, 3)
    assert torch.equal(loss.eval()(e, f), dml.losses.build("info_nce")(e, f))
    loss.train()(a, b), loss(c, d)
    before = copy.deepcopy(loss)
    assert torch.equal(loss.eval()(e, f), loss(e, f))
    assert torch.equal(loss.train()(e, f), before(e, f))


def test_half_precision_is_remembered_in_float32(check):
    one, two = (dml.losses.build("info_nce", memory={"size": 30, "warm_up": 0}) for _ in range(2))
    for x, y in batches(check, 3):
        half = x.bfloat16()
        expected = check.run(one, half.float(), y)[0]
        assert torch.equal(check.run(two, half, y, autocast=True)[0], expected)
    assert two.memory._ring[0].rows.dtype == torch.float32

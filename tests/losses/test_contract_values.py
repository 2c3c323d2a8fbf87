"""Every loss: finite values and gradients, zero where there is nothing to compare, the same for any order."""

import copy
import functools
import itertools
import random

import pytest
import torch

import dml.losses
import dml.miners
from dml import discovery
from dml.types import Pairs, Tuples


@pytest.mark.parametrize("form", ["none", "triples", "pairs", "lists"])
def test_finite_and_attached(check, case, form):
    x, y = check.contract_batch()
    value, gradient = check.run(case.build(), x, y, check.in_all_forms(y)[form])
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()
    assert value > 0
    assert gradient.abs().max() > 0


DEGENERATE = {
    "identical": lambda x, y: (x[:1].expand(len(x), -1).clone(), y),
    "zero": lambda x, y: (torch.zeros_like(x), y),
    "some_zero": lambda x, y: (x * (torch.arange(len(x)) % 3 > 0)[:, None], y),
    "opposite": lambda x, y: (x[:1] * torch.tensor([1.0, -1.0]).repeat(len(x))[: len(x), None], y),
    "duplicates": lambda x, y: (x[torch.arange(len(x)) // 3], y),
    "nearly": lambda x, y: (x[:1] + 1e-6 * x, y),
    "tiny": lambda x, y: (x * 1e-25, y),
    "huge": lambda x, y: (x * 1e25, y),
    "one_class": lambda x, y: (x, torch.zeros_like(y)),
    "one_sample": lambda x, y: (x[:1], y[:1]),
    "all_different": lambda x, y: (x[: int(y.max()) + 1], torch.arange(int(y.max()) + 1)),
    "two_classes": lambda x, y: (x, y % 2),
}


def test_degenerate_batches_are_finite(check, case):
    """Half of the kinds for each loss, each in one form of tuples, by a seed of the loss's own."""
    draw, loss = random.Random(str(case)), case.build()
    for kind in draw.sample(sorted(DEGENERATE), len(DEGENERATE) // 2):
        x, y = DEGENERATE[kind](*check.contract_batch())
        form, tuples = draw.choice(list(check.in_all_forms(y).items()))
        value, gradient = check.run(loss, x, y, tuples)
        assert torch.isfinite(value), (kind, form)
        assert torch.isfinite(gradient).all(), (kind, form)


@pytest.mark.parametrize("normalize", [True, False])
def test_equal_embeddings_have_no_huge_gradient(check, case, normalize):
    if not normalize and case.settings.get("synthesis") == "loop":
        pytest.skip("loop runs along the unit sphere")
    x, y = check.contract_batch()
    _, gradient = check.run(case.build(normalize=normalize), x[:1].expand(len(x), -1).clone(), y)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max() < 1e3


@pytest.mark.parametrize("form", ["triples", "padding", "pairs", "lists"])
def test_without_tuples_the_loss_is_zero(check, case, form):
    if not case.build().uses_tuples or case.synthesises:
        pytest.skip("makes its own tuples")
    x, y = check.contract_batch()
    none = torch.zeros(0, dtype=torch.int64)
    nothing = torch.zeros(len(y), len(y), dtype=torch.bool)
    tuples = {
        "triples": Tuples(none, none, none),
        "padding": Tuples(*torch.full((3, 7), -1)),
        "pairs": Pairs(nothing, nothing),
        "lists": (none, none, none, none),
    }[form]
    value, gradient = check.run(case.build(), x, y, tuples)
    assert value == 0
    assert torch.all(gradient == 0)


NOT_FINITE = {
    "all": lambda x: x * torch.nan,
    "one_row": lambda x: x.index_fill(0, torch.tensor([0]), torch.nan),
    "infinite": lambda x: x.index_fill(0, torch.tensor([3]), -torch.inf),
}


@functools.cache
def mined(check, bad):
    """What every pair of policies chooses among embeddings that are not finite, by the pair's names."""
    x, y = check.contract_batch()
    pairs = itertools.product(*(discovery.names(f"dml.miners.{axis}") for axis in ("positives", "negatives")))
    return {
        (positives, negatives, padded): dml.miners.build(positives=positives, negatives=negatives, padded=padded)(
            NOT_FINITE[bad](x), y, generator=torch.Generator().manual_seed(0)
        )
        for positives, negatives in pairs
        for padded in (False, True)
    }


@pytest.mark.parametrize("bad", ["all", "one_row"])
def test_no_miner_hides_that_embeddings_are_not_finite(check, case, bad):
    """Training finds a diverged network by its loss, even where no tuple is left."""
    x, y = check.contract_batch()
    x, loss = NOT_FINITE[bad](x), case.build()
    tuples = mined(check, bad)
    assert bad != "all" or any(not len(chosen[0]) for chosen in tuples.values())
    for name in random.Random(str(case)).sample(sorted(tuples), 12):  # of some 60
        value, _ = check.run(loss, x, y, tuples[name])
        assert value.isnan(), name


@pytest.mark.parametrize("bad", NOT_FINITE)
@pytest.mark.parametrize("normalize", [True, False])
def test_the_loss_of_embeddings_that_are_not_finite_is_nan(check, case, bad, normalize):
    if not normalize and case.settings.get("synthesis") == "loop":
        pytest.skip("loop runs along the unit sphere")
    x, y = check.contract_batch()
    loss = case.build(normalize=normalize)
    none = torch.zeros(0, dtype=torch.int64)
    for tuples in (None, Tuples(none, none, none)):
        value, _ = check.run(loss, NOT_FINITE[bad](x), y, tuples)
        assert value.isnan()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_without_tuples_the_loss_of_large_embeddings_is_zero(check, case, dtype):
    """Their sum overflows."""
    if not case.build().uses_tuples or case.synthesises:
        pytest.skip("makes its own tuples")
    x, y = check.contract_batch()
    x = (x.abs() / x.abs().max() * torch.finfo(dtype).max).to(dtype)
    assert x.isfinite().all()
    assert x.sum().isinf()
    none = torch.zeros(0, dtype=torch.int64)
    value, gradient = check.run(case.build(), x, y, Tuples(none, none, none))
    assert value == 0
    assert torch.all(gradient == 0)


@pytest.mark.parametrize("normalize", [True, False])
def test_an_empty_batch_is_zero(check, case, normalize):
    if not normalize and case.settings.get("synthesis") == "loop":
        pytest.skip("loop runs along the unit sphere")
    x, y = torch.zeros(0, check.size), torch.zeros(0, dtype=torch.int64)
    loss = case.build(normalize=normalize)
    padding = Tuples(*torch.full((3, 5), -1))
    for form, tuples in {**check.in_all_forms(y), "padding": padding}.items():
        value, gradient = check.run(loss, x, y, tuples)
        assert value == 0, form
        assert gradient.shape == x.shape
    assert all(torch.isfinite(number) for number in loss.stats.values())


def test_the_order_of_the_batch_does_not_matter(check, case):
    x, y = check.contract_batch(dtype=torch.float64)
    loss = case.build(torch.float64)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(1))
    order = order[y[order].sort(stable=True).indices]
    # The order within a class stays: pairs of alternate samples depend on it.
    within = torch.cat([(y == c).nonzero()[:, 0] for c in y[order].unique_consecutive().flip(0)])
    value, gradient = check.run(loss, x, y)
    again, permuted = check.run(loss, x[within], y[within])
    torch.testing.assert_close(again, value)
    torch.testing.assert_close(permuted, gradient[within])


def test_the_same_input_gives_the_same_bits(check, case):
    x, y = check.contract_batch()
    loss = case.build()
    first, second = check.run(loss, x, y), check.run(copy.deepcopy(loss), x, y)
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])


def test_large_class_ids_do_not_collide(check, case):
    if any(len(parameter) == check.classes for parameter in case.build().parameters()):
        pytest.skip("class ids index parameters")
    x, y = check.contract_batch()
    loss = case.build()
    for shift in (2**24, 2**53):
        torch.testing.assert_close(loss(x, y + shift), loss(x, y))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.uint8, torch.bool])
def test_labels_of_any_integer_type(check, case, dtype):
    x, y = check.contract_batch()
    y = y % 2 if dtype == torch.bool else y
    loss = case.build()
    expected, got = check.run(loss, x, y), check.run(loss, x, y.to(dtype))
    assert torch.equal(got[0], expected[0])
    assert torch.equal(got[1], expected[1])

"""Every loss: the forms of tuples, what miners of pytorch-metric-learning return, and losses of other packages."""

import itertools

import pytest
import torch

import dml.losses
from dml.losses import ForeignLoss
from dml.protocols import Loss
from dml.types import Pairs, Tuples

# Over sets of pairs or over triples: all forms that contain the same pairs agree.
OVER_SETS = ("triplet", "multi_similarity", "histogram", "lifted_structure", "quadruplet")


def test_forms_with_the_same_tuples_agree(check, case):
    x, y = check.contract_batch(sizes=(4, 3, 2, 5, 4), dtype=torch.float64)
    loss = case.build(torch.float64)
    forms = check.in_all_forms(y)
    values = {k: check.run(loss, x, y, form) for k, form in forms.items()}
    # Padding, and a plain tuple in place of Tuples, change nothing.
    values["padded"] = check.run(loss, x, y, Tuples(*(torch.cat((t, torch.full((9,), -1))) for t in forms["triples"])))
    values["foreign"] = check.run(loss, x, y, tuple(forms["triples"]))
    groups = [["none", "pairs", "lists"], ["triples", "padded", "foreign"]]
    if case.name in OVER_SETS:
        groups = [list(itertools.chain(*groups))]
    for group in groups:
        for other in group[1:]:
            torch.testing.assert_close(values[other][0], values[group[0]][0], msg=f"{other} != {group[0]}")
            torch.testing.assert_close(values[other][1], values[group[0]][1], msg=f"{other} != {group[0]}")


def test_rows_outside_of_the_batch_are_an_error(check, case):
    """They would be read as other pairs. -1 is padding, in all places of a tuple."""
    loss = case.build()
    if not loss.uses_tuples:
        pytest.skip("uses no tuples")
    x, y = check.contract_batch()
    forms = check.in_all_forms(y)
    for call in (loss, getattr(loss, "per_tuple", loss)):
        for given in (forms["triples"], forms["lists"]):
            for place, wrong in itertools.product(range(len(given)), (len(y), 2**40, -2, -1)):
                tuples = [rows[:9].clone() for rows in given]
                tuples[place][4] = wrong
                with pytest.raises(ValueError, match=rf"tuples: expected rows of the batch, 0 to 23.*{wrong}"):
                    call(x, y, tuples)


def test_masks_of_another_batch_are_an_error(check, case):
    loss = case.build()
    if not loss.uses_tuples:
        pytest.skip("uses no tuples")
    x, y = check.contract_batch()
    positives, negatives = check.in_all_forms(y)["pairs"]
    for change in (lambda m: m[:-1], lambda m: m[:, 1:], lambda m: m.flatten(), lambda m: m.float(), lambda m: m[None]):
        for call in (loss, getattr(loss, "per_tuple", loss)):
            with pytest.raises(ValueError, match=r"tuples: positives: expected bool \(24, 24\)"):
                call(x, y, Pairs(change(positives), negatives))
            with pytest.raises(ValueError, match=r"tuples: negatives: expected bool \(24, 24\)"):
                call(x, y, (positives, change(negatives)))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_loss_of_another_package(check):
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    loss = dml.losses.build("pytorch_metric_learning.losses.CircleLoss", m=0.3)
    assert isinstance(loss, ForeignLoss)
    assert isinstance(loss, Loss)
    assert isinstance(loss.loss, losses.CircleLoss)
    assert (loss.uses_tuples, loss.takes_padding, loss.mining, loss.search_space) == (True, False, {}, {})
    x, y = check.contract_batch()
    for tuples in (None, check.all_triples(y), check.in_all_forms(y)["lists"]):
        assert torch.equal(loss(x, y, tuples), loss.loss(x, y, tuples))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_another_packages_loss_learns_is_a_parameter_and_is_filled_in():
    pytest.importorskip("pytorch_metric_learning.losses")
    name = "pytorch_metric_learning.losses.ProxyAnchorLoss"
    loss = dml.losses.build_for(name, {"margin": 0.2}, num_classes=5, embedding_size=3, normalize=False)
    assert [tuple(p.shape) for p in loss.parameters()] == [(5, 3)]
    assert loss.loss.margin == 0.2

"""Every loss: what it says of itself, what it logs, learns, saves and rejects."""

import inspect
import itertools

import pytest
import torch

import dml.losses
from dml import discovery
from dml.config import TrainingSection
from dml.losses import parameter_rate_of
from dml.types import Choice, LogUniform, Uniform


def test_its_search_space_is_of_its_settings(case):
    assert {"normalize", *case.part.search_space} <= {*discovery.settings_of(case.part)}
    for key, space in case.part.search_space.items():
        assert isinstance(space, (Choice, LogUniform, Uniform))
        for example in space.options if isinstance(space, Choice) else (space.low, space.high):
            case.build(**{key: example})


def test_its_default_lies_in_its_search_space_or_its_file_says_why_not(case):
    defaults = discovery.defaults_of(case.part)
    for key, space in case.part.search_space.items():
        if isinstance(space, Choice):
            inside = defaults[key] in space.options
        else:
            assert space.low < space.high
            inside = space.low <= defaults[key] <= space.high
        assert inside or f"{key}: the default" in f"{inspect.getmodule(case.part).__doc__}{case.part.__doc__}"


def test_the_rate_of_its_own_parameters_has_a_range_if_it_has_any(case):
    learns = any(True for _ in case.build().parameters())
    space = parameter_rate_of(case.name, case.settings) if case.name in discovery.names("dml.losses") else None
    if case.name in discovery.names("dml.losses"):
        assert (space is not None) == learns
    if space is not None:
        for rate in (space.low, space.high):
            TrainingSection(loss_learning_rate=rate)


def test_rejects_bad_shapes_and_unknown_settings(check, case):
    x, y = check.contract_batch()
    loss = case.build()
    for bad in ((x, y[:-1]), (x, y.float()), (x[0], y), (x.long(), y)):
        with pytest.raises(ValueError, match="labels" if bad[0] is x else "embeddings"):
            loss(*bad)
    if case.name in discovery.names("dml.losses"):
        with pytest.raises(ValueError, match="'marginn'"):
            case.build(marginn=1)


def test_its_numbers_are_numbers(case):
    ours = discovery.defaults_of(case.part) if case.name in discovery.names("dml.losses") else {}
    numbers = [name for name, value in ours.items() if type(value) is float]
    for name, bad in itertools.product(numbers, (None, float("nan"), "x")):
        with pytest.raises(ValueError, match=name):
            case.build(**{name: bad})


def test_rejects_classes_that_it_has_not_learned(check, case):
    x, y = check.contract_batch()
    loss = case.build()
    if not any(len(parameter) == check.classes for parameter in loss.parameters()):
        pytest.skip("learns nothing of a class")
    y[3] = check.classes - 1
    loss(x, y)
    for wrong in (check.classes, 2**40, -1, -100):
        y[3] = wrong
        with pytest.raises(ValueError, match=rf"labels: expected 0 to 7 \(num_classes=8\), got {wrong}$"):
            loss(x, y)


def test_rejects_embeddings_of_another_size(check, case):
    x, y = check.contract_batch()
    loss = case.build()
    if not any(
        len(parameter) == check.classes and parameter.shape[-1] == check.size for parameter in loss.parameters()
    ):
        pytest.skip("takes embeddings of any size")
    with pytest.raises(ValueError, match=r"embeddings: expected \(N, 16\) \(embedding_size=16\), got \(24, 17\)"):
        loss(torch.nn.functional.pad(x, (0, 1)), y)


def test_what_it_learns_has_a_gradient_and_is_saved(check, case):
    x, y = check.contract_batch()
    loss = case.build()
    check.run(loss, x, y)
    for key, parameter in loss.named_parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()
        assert key in loss.state_dict()


def test_stats_are_numbers_without_a_graph(check, case):
    """`active_share` above all: a mean over the active tuples scales gradients by its inverse."""
    x, y = check.contract_batch()
    loss = case.build()
    check.run(loss, x, y)
    averages_over_active = getattr(loss, "reduction", None) == "nonzero"
    assert "active_share" in loss.stats or not averages_over_active
    for key, number in loss.stats.items():
        assert number.shape == ()
        assert not number.requires_grad
        assert not key.endswith("share") or 0 <= number <= 1


def test_a_trials_values_are_filled_in_unless_set():
    loss = dml.losses.build_for("margin", {"normalize": True}, num_classes=7, embedding_size=3, normalize=False)
    assert loss.beta.shape == (7,)
    assert loss.normalize is True
    assert dml.losses.build_for("margin", {}, num_classes=7, embedding_size=3, normalize=False).normalize is False
    assert dml.losses.build_for("triplet", {}, num_classes=7, normalize=None).normalize is True
    with pytest.raises(ValueError, match="num_classes"):
        dml.losses.build_for("margin", {})

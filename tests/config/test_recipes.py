"""Recipes fill what a study leaves open, and refuse settings that contradict them."""

import pytest

from dml.config import ConfigError
from dml.config.recipes import FIXED, RECIPES
from dml.config.study import Study
from dml.losses import Triplet
from dml.report.methods import mark

STUDY = """\
title: A recipe
datasets: [digits]
losses: [softmax]
"""
BLOCK = {"partial": "train_from: layers.3"}


@pytest.mark.parametrize("name", RECIPES)
def test_every_value_is_filled_in_and_each_can_be_replaced(study, name):
    found = study(f"recipe: {name}\ntraining: {{{BLOCK.get(name, '')}}}")
    for setting, (value, source) in RECIPES[name].items():
        section, _, key = setting.partition(".")
        have = getattr(getattr(found, section), key)
        assert source
        if key == "search":
            assert list(have) == list(value)
        else:
            assert have == value, setting
    assert found.training.frozen == FIXED[name]["frozen"]
    own = study(f"recipe: {name}\ntraining: {{weight_decay: 0.5, {BLOCK.get(name, '')}}}\nsearch: {{trials: 2}}")
    assert own.training.weight_decay == 0.5
    assert own.search.trials == 2
    assert own.training.optimizer == "adamw"


def test_a_study_without_a_recipe_is_tuned_unless_it_says_otherwise(study):
    """Rate, decay, the rate of a loss's own parameters, and when to stop; what is set by hand is not searched."""
    plain = study("")
    assert list(plain.training.search) == ["learning_rate", "weight_decay", "loss_learning_rate"]
    assert (plain.search.sampler, plain.search.stop, mark(plain)) == ("tpe", "best", "")
    by_hand = study("training: {weight_decay: 0.1}\nsearch: {stop: last}")
    assert list(by_hand.training.search) == ["learning_rate", "loss_learning_rate"]
    assert by_hand.search.stop == "last"
    assert mark(study("training: {learning_rate: 0.1}")) == "rate not tuned"
    assert study("training: {search: {}}").training.search == {}
    for untouched in ("search: {sampler: fixed}", "training: {steps: 0}"):
        assert (study(untouched).training.search, study(untouched).search.stop) == ({}, "last")
    assert mark(study("search: {sampler: fixed}")) == "not tuned"


def test_own_is_the_range_that_a_part_states(study):
    found = Study(title="t", datasets=["digits"], losses=[{"name": "triplet", "search": {"margin": "own"}}])
    assert found.cells()[0].loss.search == {"margin": Triplet.search_space["margin"]}
    with pytest.raises(ConfigError, match="only loss_learning_rate can be 'own'"):
        study("training: {search: {weight_decay: own}}")

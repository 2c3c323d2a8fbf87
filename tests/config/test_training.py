"""The section `training`: settings that contradict each other, and which of them can be searched and varied."""

import pytest
from pydantic import ValidationError

from dml.config.grid import axes
from dml.config.training import REAL, SEARCHABLE, TrainingSection
from dml.types import TrainingSpec

OTHER = {
    "optimizer": "sgd",
    "schedule": "cosine",
    "batch_norm": "frozen",
    "head_start": "whitening",
    "head_refit": "lda",
    "normalize": False,
    "steps": 40,
    "embedding_size": 8,
    "warmup_steps": 5,
    **dict.fromkeys(REAL, 0.25),
}
"""A value of each searchable setting that is not its default."""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head_refit": "components", "head_start": "lda"}, "need different heads"),
        ({"head_refit": "lda", "frozen": True}, "head_refit: with frozen: true it would replace all that is trained"),
        ({"warmup_steps": 500}, "warmup_steps: expected fewer than the 500 steps, got 500"),
        ({"frozen": True, "batch_norm": "frozen"}, "batch_norm: with frozen: true, expected no batch_norm"),
        ({"frozen": True, "head_learning_rate": 0.1}, "head_learning_rate: with frozen: true.*is the head's"),
        ({"frozen": True, "layer_decay": 0.5}, "layer_decay: with frozen: true, expected no layer_decay"),
        ({"layer_decay": 1.5}, r"layer_decay\n.*less than or equal to 1"),
        ({"search": {"layer_decay": {"uniform": [0.5, 1.5]}}}, "search: layer_decay: .*equal to 1, got 1.5"),
        ({"search": {"warmup_steps": {"uniform": [1, 2]}}}, "warmup_steps is a whole number"),
    ],
)
def test_settings_that_contradict_each_other(settings, message):
    with pytest.raises(ValidationError, match=message):
        TrainingSection(**settings)


def test_every_searchable_setting_can_be_searched_varied_and_decides_the_key():
    assert set(OTHER) == set(SEARCHABLE)
    assert set(SEARCHABLE) <= set(TrainingSpec.__dataclass_fields__)
    for name, value in OTHER.items():
        default = getattr(TrainingSection(), name)
        space = {"choice": [value, default if default is not None else value]}
        TrainingSection(search={name: space})
        assert axes({f"training.{name}": [default, value]})
        changed = TrainingSection(**{name: value}).spec()
        assert getattr(changed, name) == value

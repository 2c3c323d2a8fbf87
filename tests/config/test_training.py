"""The section `training`: settings that contradict each other, and which of them can be searched and varied."""

import pytest

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


@pytest.mark.parametrize(
    "search",
    [
        {"steps": {"choice": [10, 100]}, "warmup_steps": {"choice": [0, 50]}},
        {"head_start": {"choice": ["components"]}, "head_refit": {"choice": [None, "whitening"]}},
    ],
)
def test_searched_settings_contradict_each_other_as_fixed_ones_do(search):
    key = "|".join(search)
    with pytest.raises(ValueError, match=f"({key}): "):
        TrainingSection(steps=100, search=search)
    for name, space in search.items():
        TrainingSection(steps=100, search={name: space})

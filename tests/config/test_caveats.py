"""What is said beside scores: what was chosen on correct labels, and what training and test images share."""

import pytest

from dml.config import SearchSection, study_from
from dml.config.for_use import ON_CORRECT, caveats, explained

APART = {"name": "numbers", "settings": {"apart": True}}


def study(dataset="digits", noise=None, **further):
    content = {
        "title": "A study",
        "datasets": [dataset],
        "losses": ["triplet", "whitening"],
        "positives": ["random"],
        "negatives": ["semihard_random"],
        "noise": [noise or {"name": "uniform", "rates": [0.0, 0.2]}],
        "training": {"search": {"learning_rate": {"log_uniform": [1e-4, 1e-2]}}},
        "search": {"validation": "true_labels"},
        **further,
    }
    return study_from(content, "study")


def marks(found):
    return {(cell.loss.name, cell.rate): caveats(found, cell) for cell in found.cells()}


def test_labels_that_somebody_gave_choose_at_any_rate():
    at_none = {noise: SearchSection().chooses_by_observed(noise, 0.0) for noise in ("label_file:x", "given", "uniform")}
    assert at_none == {"label_file:x": True, "given": True, "uniform": False}


def test_trained_rows_with_wrong_labels_are_chosen_on_correct_ones():
    assert {key for key, found in marks(study()).items() if ON_CORRECT in found} == {("triplet", 0.2)}


@pytest.mark.parametrize(("level", "marked"), [("coarse", True), ("fine", False), ("given", False)])
def test_observed_labels_choose_at_their_own_level_alone(tmp_path, level, marked):
    dataset = {"name": "imagefolder", "settings": {"root": str(tmp_path)}, "evaluate_on": [level]}
    assert (ON_CORRECT in marks(study(dataset, search={"validation": "observed"}))["triplet", 0.2]) == marked


@pytest.mark.parametrize(("level", "marked"), [("fine", True), ("given", False)])
def test_labels_of_people_count_as_correct_where_verified_ones_choose(tmp_path, level, marked):
    dataset = {"name": "imagefolder", "settings": {"root": str(tmp_path)}, "evaluate_on": [level]}
    found = marks(study(dataset, {"name": "given", "rates": [0.4]}))
    assert (ON_CORRECT in found["triplet", 0.4]) == marked


@pytest.mark.parametrize(
    ("dataset", "splits", "shared"),
    [
        ("numbers", 1, False),
        ("numbers", 2, True),
        ("numbers", {"folds": 5}, True),
        ("digits", {"folds": 5}, False),
        (APART, 5, False),
    ],
)
def test_numbers_share_handwriting_in_class_splits(dataset, splits, shared):
    found = study(dataset, {"name": "uniform", "rates": [0.0]}, class_splits=splits)
    assert all(("shared handwriting" in own) == shared for own in marks(found).values())
    assert any("handwriting" in text for text in explained(found)) == shared

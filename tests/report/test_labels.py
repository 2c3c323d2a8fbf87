"""How names are written for a reader."""

from dml.report.labels import value_label


def test_a_start_is_named_by_its_study_and_cell():
    assert value_label({"study": "clean", "cell": {"loss": "triplet", "rate": 0.2}}) == "clean (triplet, 0.2)"
    assert value_label({"name": "resnet18"}) == "name:resnet18"
    assert value_label(None) == "none"

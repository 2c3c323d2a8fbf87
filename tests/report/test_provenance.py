"""What a page says of the data that were used, and where it says nothing."""

from dataclasses import replace

from dml.config import DatasetSection
from dml.report.sections.provenance import Provenance

COUNTS = {"skipped": 3, "roles": {"test": {"images": 41, "classes": 6}, "train": {"images": 1040, "classes": 1}}}
TEXT = "1,040 images of 1 class to train on, 41 images of 6 classes to test; 3 skipped, which could not be decoded"


def rows(results):
    return dict(next(Provenance().content(results)).items)


def test_the_images_and_classes_of_each_dataset(synthetic, loaded):
    results = loaded(synthetic.small())
    (dataset,) = results.study.datasets
    assert not any(title.startswith("Data") for title in rows(results))  # of results before it was recorded
    found = rows(replace(results, summary={**results.summary, "data": {dataset.label: COUNTS}}))
    assert found["Data"] == TEXT
    noted = {**COUNTS, "notes": ["6 files are left out", "identical images: 1"]}
    found = rows(replace(results, summary={**results.summary, "data": {dataset.label: noted}}))
    assert found["Data"] == f"{TEXT}; 6 files are left out; identical images: 1"
    none = {**COUNTS, "skipped": 0}
    found = rows(replace(results, summary={**results.summary, "data": {dataset.label: none}}))
    assert found["Data"] == TEXT.partition(";")[0]


def test_both_views_are_named(synthetic, loaded):
    assert "Views" not in rows(loaded(synthetic.small()))
    assert "Views" in rows(loaded(synthetic.small(evaluation={"views": "mirror"})))


def test_several_datasets_are_named(synthetic, loaded):
    results = loaded(
        synthetic.small(datasets=[DatasetSection(name="digits"), DatasetSection(name="digits", id="more")])
    )
    found = rows(replace(results, summary={**results.summary, "data": {"more": COUNTS}}))
    assert found["Data: more"] == TEXT
    assert "Data: digits" not in found


def test_vectors_are_no_images_and_have_no_network(synthetic, loaded, monkeypatch):
    results = loaded(synthetic.small())
    before = rows(results)
    monkeypatch.setattr(DatasetSection, "passes_on", "identity")
    after = rows(results)
    assert after["Network"] == before["Network"].replace(results.study.training.backbone, "identity")
    assert after["Batches"] == before["Batches"].replace("images", "vectors") != before["Batches"]

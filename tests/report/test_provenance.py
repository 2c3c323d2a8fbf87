"""What a page says of the data that were used, and where it says nothing."""

from dataclasses import replace

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

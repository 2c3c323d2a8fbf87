"""Each study of the repository: it loads, its claims are the papers', and docs/studies-of-the-papers.md lists it."""

import re
from functools import cache
from pathlib import Path

import pytest

from dml import discovery
from dml.config import Study, load_study
from dml.papers import paper_claims
from dml.report.claims import registered
from dml.report.labels import metric_label
from dml.report.loading import load
from dml.report.sections import reference_values

ROOT = Path(__file__).parents[2]
STUDIES = sorted(path.stem for path in (ROOT / "pipelines" / "studies").glob("*.yaml"))
PAPERS = {claim.paper: claim for claim in paper_claims().values()}
OF_PAPERS = [name for name in STUDIES if name.partition("-")[0] in PAPERS]


@cache
def study_of(name: str) -> Study:
    return load_study(ROOT / "pipelines" / "studies" / f"{name}.yaml")


@pytest.mark.parametrize("name", STUDIES)
def test_it_loads_and_its_published_rows_are_evaluated(name):
    study = study_of(name)
    assert study.cells()
    metrics = {metric_label(metric) for metric in study.evaluation.metrics}
    for entry in study.reference_values:
        assert set(reference_values.lookup(entry)) <= metrics, entry
        assert entry.dataset in {dataset.name for dataset in study.datasets}
        assert entry.set in study.evaluation.sets


def test_each_claim_is_tested_in_studies_that_have_its_cells():
    """Their attributes, pairs and scores are there: what is wrong would raise."""
    for test in registered():
        for name in test.studies:
            assert list(test.function(load(study_of(name), Path("nowhere")))), (test.claim, name)


def test_a_study_comes_after_the_one_that_it_starts_from():
    for name in OF_PAPERS:  # `make repro STUDY=paper-noise` runs them in this order
        starts = [study_of(name).training_of(cell).init_from for cell in study_of(name).cells()]
        for start in filter(None, starts):
            assert start.study in STUDIES
            assert start.study < name
            earlier = study_of(start.study)
            assert set(study_of(name).seeds) <= set(earlier.seeds)


def row_of(name: str) -> str:
    """A study's row in the page: its name, title, data, and where and how long it runs."""
    study = study_of(name)
    text = " ".join(study.description.split())
    data = ", ".join(dict.fromkeys(dataset.name for dataset in study.datasets))
    time = re.findall(r"[Aa]bout (\d+ (?:minutes|hours)) on two cores|A GPU, about (\d+ hours)", text)[-1]
    where = "a GPU" if study.resources.gpus_per_trial else "here"
    return f"| `{name}` | {study.title} | {data} | {where} | {time[0] or time[1]} |"


def test_the_page_of_all_studies_is_what_they_say():
    page = (ROOT / "docs" / "studies-of-the-papers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `.*", page, flags=re.MULTILINE)
    expected = [row_of(name) for paper in PAPERS for name in OF_PAPERS if name.startswith(f"{paper}-")]
    assert rows == expected, "expected these rows:\n" + "\n".join(expected)
    for claim in paper_claims().values():
        assert not claim.no_study or f"- `{claim.id}`: {claim.no_study}" in page


def test_every_part_has_every_loss_and_policy():
    study = load_study(ROOT / "tests/studies/every-part.yaml")
    assert {loss.name for loss in study.losses} == set(discovery.names("dml.losses"))
    assert set(study.positives) == set(discovery.names("dml.miners.positives"))
    assert set(study.negatives) == set(discovery.names("dml.miners.negatives"))

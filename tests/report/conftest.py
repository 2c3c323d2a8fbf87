"""Synthetic trials, their results as the report loads them, and a site that is built once."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from dml.config import ClaimSection
from dml.report import contents
from dml.report.loading import load
from dml.report.site import build

_spec = importlib.util.spec_from_file_location("synthetic", Path(__file__).with_name("synthetic.py"))
assert _spec is not None
assert _spec.loader is not None
_synthetic = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_synthetic)


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The helper that invents trials."""
    return _synthetic


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> SimpleNamespace:
    """A site of a study over noise rates, one with embeddings in the plane, and one that has not run."""
    root = tmp_path_factory.mktemp("site")
    easy = {"first": {"positives": "easy"}, "second": {"positives": "random"}}
    claims = [ClaimSection(claim="eps-table-1-test", compare=easy, each=["loss"], published=7.1)]
    studies = [_synthetic.study(claims=claims), _synthetic.plane_study(), _synthetic.study("empty")]
    for study in studies[:2]:
        _synthetic.write(study, root)
    index = build(studies, root / "results", root / "store", root / "report")
    return SimpleNamespace(root=root, report=root / "report", index=index, studies=studies)


@pytest.fixture
def loaded(tmp_path):
    """(study, alter) -> the results of invented trials."""

    def make(study, alter=lambda frame: frame):
        _synthetic.write(study, tmp_path, alter)
        return load(study, tmp_path / "results" / study.name, tmp_path / "store")

    return make


@pytest.fixture
def built(tmp_path, monkeypatch):
    """(study, alter) -> the text of the study's page. The theory page is left empty, which saves time."""
    monkeypatch.setattr(contents, "THEORY", ())

    def make(study, alter=lambda frame: frame):
        _synthetic.write(study, tmp_path, alter)
        build([study], tmp_path / "results", tmp_path / "store", tmp_path / "report")
        return (tmp_path / "report" / "studies" / f"{study.name}.html").read_text(encoding="utf-8")

    return make

"""The synthetic trials, as a fixture; a report of both synthetic studies, built once."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

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
    """A site of a study over noise rates, one with a plane, and one that has not run."""
    root = tmp_path_factory.mktemp("site")
    studies = [_synthetic.study(), _synthetic.plane_study(), _synthetic.study("empty")]
    for study in studies[:2]:
        _synthetic.write(study, root)
    index = build(studies, root / "results", root / "store", root / "report")
    return SimpleNamespace(root=root, report=root / "report", index=index, studies=studies)

"""Synthetic trials, their results as the report loads them, and a site that is built once."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from dml.config import ComparisonSection, Study, load_study
from dml.report.loading import load
from dml.report.results import Results
from dml.report.site import build
from dml.snapshots import Snapshot

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # for tests that import one
import chromium
import synthetic as _synthetic

ROOT = Path(__file__).parents[2]
AXE = ("axe_playwright_python", "axe_core_python")  # each contains axe.min.js; neither is imported
HARNESS = """<!DOCTYPE html><body><script>
const seen = {};
function open(name, address, width, look) {
  return new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.width = width; frame.height = 900; frame.src = address;
    frame.onload = async () => {
      seen[name] = await look(frame.contentDocument, frame.contentWindow);
      frame.remove();
      done();
    };
    document.body.append(frame);
  });
}
SCRIPT
</script></body>"""


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The helper that invents trials."""
    return _synthetic


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> SimpleNamespace:
    """A site of a study over noise rates, one with embeddings in the plane, and one that has not run."""
    root = tmp_path_factory.mktemp("site")
    easier = ComparisonSection(text="Easy positives help.", **_synthetic.EASIER)
    studies = [_synthetic.study(compare=[easier]), _synthetic.plane_study(), _synthetic.study("empty")]
    for study in studies[:2]:
        _synthetic.write(study, root)
    index = build(studies, root / "results", root / "store", root / "report")
    return SimpleNamespace(root=root, report=root / "report", index=index, studies=studies)


@pytest.fixture(scope="session")
def browse(site, tmp_path_factory):
    """(script, dark) -> what the script collects in `seen`, in a page at the root of the site, in headless Chromium."""

    def run(script: str, dark: bool = False) -> dict:
        page = site.report / "harness.html"
        page.write_text(HARNESS.replace("SCRIPT", script), encoding="utf-8")
        with chromium.tab(tmp_path_factory.mktemp("browser")) as tab:
            tab.scheme("dark" if dark else "light")
            tab.open(page.as_uri())
            found = tab.run("run().then(() => seen)")
        page.unlink()
        return found

    return run


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    for name in AXE:
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed: pip install axe-core-python")


@pytest.fixture(scope="session")
def published() -> Callable[[str], Results]:
    """The name of a published study -> its results, from the snapshot."""

    def read(name: str) -> Results:
        study = load_study(ROOT / f"pipelines/studies/{name}.yaml")
        return load(study, ROOT / "not run here", snapshot=Snapshot(ROOT / "docs/results" / name))

    return read


@pytest.fixture
def study_of(tmp_path) -> Callable[[str], Study]:
    """The text of a study's file -> the study, which is called `own`."""

    def read(text: str) -> Study:
        path = tmp_path / "own.yaml"
        path.write_text(text)
        return load_study(path)

    return read


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
    monkeypatch.setattr("dml.report.site.theory_sections", list)

    def make(study, alter=lambda frame: frame):
        _synthetic.write(study, tmp_path, alter)
        build([study], tmp_path / "results", tmp_path / "store", tmp_path / "report")
        return (tmp_path / "report" / "studies" / f"{study.name}.html").read_text(encoding="utf-8")

    return make

"""Synthetic trials, their results as the report loads them, and a site that is built once."""

import html
import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from dml.config import ClaimSection
from dml.report.loading import load
from dml.report.site import build

_spec = importlib.util.spec_from_file_location("synthetic", Path(__file__).with_name("synthetic.py"))
assert _spec is not None
assert _spec.loader is not None
_synthetic = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_synthetic)


_shapes = importlib.util.spec_from_file_location("shapes", Path(__file__).with_name("shapes.py"))
assert _shapes is not None
assert _shapes.loader is not None
shapes_module = importlib.util.module_from_spec(_shapes)
_shapes.loader.exec_module(shapes_module)

AXE = ("axe_playwright_python", "axe_core_python")  # each contains axe.min.js; neither is imported
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files"),
    *("--virtual-time-budget=60000", "--dump-dom"),
]
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
run().catch((error) => { seen.error = String(error.stack || error); }).then(() => {
  document.body.innerHTML = "<pre id=seen></pre>";
  document.getElementById("seen").textContent = JSON.stringify(seen);
});
</script></body>"""


@pytest.fixture(scope="session")
def shapes() -> ModuleType:
    """Studies of extreme shapes."""
    return shapes_module


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


@pytest.fixture(scope="session")
def browse(site, tmp_path_factory):
    """(script, dark) -> what the script collects in `seen`, in a page at the root of the site, in headless Chromium.

    The script's `run()` may call `open(name, address, width, look)`: what `look(page, window)` returns becomes
    `seen[name]`.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("no chromium here")

    def run(script: str, dark: bool = False) -> dict:
        profile, page = tmp_path_factory.mktemp("profile"), site.report / "harness.html"
        page.write_text(HARNESS.replace("SCRIPT", script), encoding="utf-8")
        flags = [*FLAGS, f"--user-data-dir={profile}", *(["--blink-settings=preferredColorScheme=0"] if dark else [])]
        command = [chromium, *flags, page.as_uri()]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
        page.unlink()
        found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.S)
        assert found, dom[-2000:]
        return json.loads(html.unescape(found[1]))

    return run


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    for name in AXE:
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed: pip install axe-core-python")


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

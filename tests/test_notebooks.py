"""The notebooks of docs run, and find what their text says."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
BOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))

pytestmark = [pytest.mark.slow, pytest.mark.minutes]


@pytest.fixture(scope="module")
def executed():
    """What each notebook prints, and its code cells, run from the start."""
    found = {}
    for name in BOOKS:
        book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
        NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": FOLDER}}).execute()
        cells = [cell for cell in book.cells if cell.cell_type == "code"]
        found[name] = _printed(cells), cells
    return found


def _printed(cells):
    return "".join(out["text"] for cell in cells for out in cell["outputs"] if out.get("name") == "stdout")


def _number(pattern, text):
    return float(re.search(pattern, text)[1])


def test_losses_and_miners(executed):
    text, _ = executed["losses-and-miners"]
    clean, noisy = (
        _number(r"triplet, correct labels: R@1 ([\d.]+)", text),
        _number(r"triplet, 40% wrong: R@1 ([\d.]+)", text),
    )
    other, pixels = _number(r"contrastive, 40% wrong: R@1 ([\d.]+)", text), _number(r"pixels.*: R@1 ([\d.]+)", text)
    assert clean > pixels + 40
    assert clean - noisy > 30, "wrong labels take most of what training gains"
    assert min(noisy, other) > pixels


def test_audit_your_labels(executed):
    text, _ = executed["audit-your-labels"]
    assert _number(r"of the 100 most suspicious labels (\d+)% are wrong", text) >= 95
    low, high = map(float, re.search(r"95% interval ([\d.]+)% to ([\d.]+)%", text).groups())
    assert low <= 10.0 <= high
    assert abs(_number(r"first guess: ([\d.]+)%", text) - 10) < 3


def test_read_a_study_prints_what_the_snapshot_holds(executed):
    text, cells = executed["read-a-study"]
    stored = nbformat.read(FOLDER / "read-a-study.ipynb", as_version=4).cells
    assert text == _printed([cell for cell in stored if cell.cell_type == "code"])
    difference, low, high = map(
        float, re.search(r"([\d.-]+) points, 95% interval ([\d.-]+) to ([\d.-]+), 5 seeds", text).groups()
    )
    assert low < difference < high
    assert any("text/html" in out.get("data", {}) for cell in cells for out in cell["outputs"])

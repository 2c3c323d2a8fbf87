"""Stage `versions`: which files count for which stage, and what a change in one of them reruns."""

import subprocess
import sys
from pathlib import Path

import pytest

from dml.pipeline import start, versions

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_what_a_stage_imports_counts():
    """All stages, imported in a process of their own, load no module that is not counted, but for checks of studies."""
    code = (
        "import sys, importlib\n"
        "import dml.config, dml.pipeline.start\n"
        "before = set(sys.modules)\n"
        f"for stage in {start.STAGES}: importlib.import_module('dml.pipeline.' + stage)\n"
        "print(*(getattr(sys.modules[m], '__file__', '') for m in set(sys.modules) - before if m.startswith('dml.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {Path(path) for path in done.stdout.split()}
    counted = {path for stage in start.STAGES for path in versions.files_of(stage)}
    assert len(loaded) > 100
    assert not loaded - counted


@pytest.mark.parametrize(
    ("stage", "counts", "counts_not"),
    [
        ("resolve", ["config/study.py", "files.py"], ["losses/triplet.py", "data/packing/__init__.py"]),
        ("download", ["data/sources/bundled.py", "protocols.py"], ["config/study.py", "training/loop.py"]),
        ("corrupt", ["noise/plain.py"], ["losses/triplet.py", "report/site.py", "config/study.py"]),
        ("sweep", ["losses/triplet.py", "config/study.py", "training/loop.py"], ["report/site.py", "cli/main.py"]),
        (
            "report",
            ["report/page/templates/style.css", "report/glossary.yaml", "report/sections/winners.yaml", "papers.py"],
            ["sweep/plan/plan.py"],
        ),
    ],
)
def test_a_stage_counts_what_it_runs(stage, counts, counts_not):
    files = {path.relative_to(versions.PACKAGE).as_posix() for path in versions.files_of(stage)}
    assert f"pipeline/{stage}.py" in files
    assert files >= set(counts)
    assert not files & set(counts_not)

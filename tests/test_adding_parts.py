"""A part is one file: golden and contract tests find a new one of each kind without any other edit."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dml import discovery

ROOT = Path(__file__).parents[1]

# Each new part is a copy of one that exists: folder, file, class, and the room whose tests must find it.
COPIES = [
    ("losses", "contrastive", "Contrastive", "losses"),
    ("filters", "prism", "Prism", "filters"),
    ("miners/positives", "easy", "Easy", "miners"),
    ("miners/negatives", "hard", "Hard", "miners"),
    ("noise", "uniform", "Uniform", "noise"),
    ("data/sources", "digits", "Digits", "data"),
    ("data/batches", "balanced", "Balanced", "data"),
    ("data/augment", "crop224", "Crop224", "data"),
    ("models", "mlp", "Mlp", "models"),
    ("evaluation/metrics", "recall", "Recall", "evaluation"),
    ("evaluation/metrics", "nmi", "Nmi", "evaluation"),
]


@pytest.mark.slow
@pytest.mark.minutes
def test_a_new_part_of_each_kind_is_found_by_the_suites(tmp_path):
    for name in ("dml", "papers", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "docs", "pipelines", "dvc.yaml", "Makefile", "params.yaml"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    for folder, file, kind, _ in COPIES:
        part = discovery.find(f"dml.{folder.replace('/', '.')}", file)
        text = re.sub(rf"\b{kind}\b", f"Added{kind}", Path(inspect.getfile(part)).read_text(encoding="utf-8"))
        text = text.replace(f'name: ClassVar[str] = "{file}"', f'name: ClassVar[str] = "added_{file}"')
        (tmp_path / "dml" / folder / f"added_{file}.py").write_text(text, encoding="utf-8")
        own_test = tmp_path / "tests" / folder / f"test_{file}.py"
        if own_test.is_file():  # a policy's own test has its reference, which the suite looks up
            shutil.copy(own_test, own_test.with_name(f"test_added_{file}.py"))
    rooms = sorted({room for *_, room in COPIES})
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--golden-update", "-k", "added_"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *(f"tests/{room}" for room in rooms)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    passed = [line for line in done.stdout.splitlines() if line.startswith("PASSED")]
    for folder, file, _, room in COPIES:
        own = [line for line in passed if f"tests/{room}/" in line and f"added_{file}" in line]
        assert any("golden" in line for line in own), f"no golden test ran for a new part in dml/{folder}"
        assert any("golden" not in line for line in own), f"no contract test ran for a new part in dml/{folder}"

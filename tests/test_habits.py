"""What a visitor expects of a repository: licence, citation, changelog, templates, checks, and a small example."""

import hashlib
import importlib.util
import json
import re
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml

import dml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXT = {".py", ".pyi", ".md", ".yaml", ".yml", ".toml", ".cff", ".txt", ".css", ".js", ".html"}


def test_the_licence_is_the_whole_of_apache_2():
    assert PROJECT["license"] == "Apache-2.0"
    digest = hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest()
    assert digest == "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"  # as apache.org publishes it


def test_the_citation_names_this_version_and_the_four_papers():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert {"title", "message", "authors"} <= set(cited)
    assert cited["version"] == PROJECT["version"] == dml.__version__
    assert cited["license"] == PROJECT["license"]
    studies = " ".join((ROOT / "docs/studies-of-the-papers.md").read_text(encoding="utf-8").lower().split())
    assert len(cited["references"]) == 4
    for paper in cited["references"]:
        assert paper["title"].lower() in studies
        for author in paper["authors"]:
            assert author["family-names"].lower() in studies


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings[0] == dml.__version__


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yaml")), ids=lambda path: path.stem)
def test_an_issue_form_has_what_a_form_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    kinds = [field["type"] for field in form["body"]]
    assert kinds
    assert set(kinds) <= {"textarea", "input", "checkboxes", "dropdown", "markdown"}
    assert all(field["attributes"]["label"] for field in form["body"])


def test_the_checks_run_what_exists():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text(encoding="utf-8"))
    assert set(workflow["jobs"]) == {"lint", "test", "docs", "wheel"}
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    runs = " ".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    asked = set(re.findall(r"\bmake ([a-z-]+)", runs))
    assert {"lint", "test", "docs"} <= asked <= targets
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]  # nothing is fetched
    assert {hook["id"] for hook in hooks[0]["hooks"]} >= {"ruff", "ruff-format", "end-of-file"}


def test_the_whitespace_at_the_end_of_lines_and_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.suffix not in TEXT or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        assert not text or (text.endswith("\n") and not text.endswith("\n\n")), f"{name}: end with one newline"
        assert not re.search(r"[ \t]\n", text), f"{name}: spaces at the end of a line"


@pytest.fixture(scope="module")
def tiny():
    spec = importlib.util.spec_from_file_location("tiny_dml", ROOT / "docs/tiny/tiny_dml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tiny_sweep_is_short(tiny):
    assert len(Path(tiny.__file__).read_text(encoding="utf-8").splitlines()) <= 160


def test_the_tiny_sweep_searches_on_classes_that_are_not_tested(tiny):
    _, labels, trains = tiny.load()
    parts = {part: [set(labels[rows]) for rows in tiny.split(labels, trains, part)] for part in ("validation", "test")}
    assert len(parts["test"][0]) == 60
    assert len(parts["test"][1]) == 40
    for training, scored in parts.values():
        assert training
        assert scored
        assert not training & scored
    assert not set.union(*parts["validation"]) & parts["test"][1]


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.9])
def test_the_tiny_noise_flips_the_share_to_other_classes(tiny, rate):
    labels = np.repeat([3, 5, 9], 40)
    observed = tiny.corrupt(labels, rate, seed=0)
    assert (observed != labels).sum() == round(rate * 120)
    assert set(observed) <= {3, 5, 9}
    np.testing.assert_array_equal(observed, tiny.corrupt(labels, rate, seed=0))


def test_the_tiny_score_is_that_of_dml(tiny):
    pixels, labels, _ = tiny.load()
    embeddings = tiny.torch.from_numpy(pixels[:600])
    expected = dml.evaluation.evaluate(embeddings, labels[:600], metrics=["recall@1"])["recall@1"]
    assert tiny.recall_at_1(embeddings, labels[:600]) == pytest.approx(expected, abs=0.005)


def test_the_tiny_key_is_that_of_the_settings_and_versions(tiny, monkeypatch):
    spec = {"loss": "triplet", "rate": 0.0, "seed": 0}
    assert tiny.key(spec) == tiny.key(dict(reversed(spec.items())))
    assert tiny.key(spec) != tiny.key({**spec, "seed": 1})
    before = tiny.key(spec)
    monkeypatch.setitem(tiny.VERSIONS, "train", 2)
    assert tiny.key(spec) != before


@pytest.mark.slow
def test_the_tiny_sweep_resumes_with_the_same_numbers(tiny, tmp_path, monkeypatch):
    few = {"losses": ["triplet"], "rates": [0.0, 0.4], "trials": 2, "seeds": [0], "steps": 3}
    first = tiny.sweep(tmp_path, **few)
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == 2 * (2 + 1)
    assert all(json.loads(path.read_text())["spec"]["steps"] == 3 for path in files)
    files[0].unlink()  # as if interrupted
    trained, train = [], tiny.train
    monkeypatch.setattr(tiny, "train", lambda *given: trained.append(given) or train(*given))
    assert tiny.sweep(tmp_path, **few) == first
    assert len(trained) == 1

"""The documentation says what is so: its code runs, its commands exist, its settings are the settings."""

import itertools
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from dml import config, discovery, evaluation, protocols
from dml.config.for_use import caveats
from dml.report.loading import load
from dml.report.numbers import points
from dml.report.regimes import each_gain
from dml.snapshots import Snapshot

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
AUDIT = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
PYTHON = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", [README, PYTHON], ids=["README", "docs/python.md"])
def test_the_code_for_a_training_loop_runs(page):
    block = blocks(page, "python")[0]
    scope: dict = {}
    exec(compile(block, "page", "exec"), scope)
    assert scope["embeddings"].grad is not None
    assert 0 <= scope["scores"]["recall@1"] <= 1
    if page is PYTHON:
        assert len(scope["noisy"].observed) == len(scope["labels"]) == len(scope["kept"])


def test_the_code_that_trains_with_a_memory_runs():
    scope: dict = {}
    torch.manual_seed(0)
    exec(compile(blocks(PYTHON, "python")[1], "page", "exec"), scope)
    memory = scope["state"]["loss"]["memory._extra_state"]
    assert memory["steps"] == 100
    assert memory["ring"]["written"] == 80 * 64
    pixels, labels = scope["pixels"].float() / 16, scope["labels"]
    networks = scope["network"], torch.nn.Linear(64, 16)
    trained, random = (evaluation.evaluate(n(pixels).detach(), labels, metrics=["map@r"])["map@r"] for n in networks)
    assert trained > random + 0.2


@pytest.mark.slow
def test_the_code_of_the_audits_page_runs_one_block_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    kinds = np.arange(240) % 3
    labels = np.where(np.arange(240) < 12, (kinds + 1) % 3, kinds)
    features = (np.eye(3)[kinds] + generator.normal(0, 0.1, (240, 3))).astype(np.float32)
    scope = {
        "images": features,
        "features": features,
        "pixels": generator.normal(size=(240, 4)).astype(np.float32),
        "labels": labels,
        "photos": np.zeros((240, 8, 8, 1), np.uint8),
        "names": [f"{row}.png" for row in range(240)],
        "train_and_embed": lambda images, labels: images,
        "pd": pd,
    }
    for block in blocks(AUDIT, "python"):
        if 'read_csv("review.csv"' in block:  # as the page saves it
            plan = scope["plan"]
            review = plan.table().assign(answer="right", label="", audit=plan.digest)
            review.to_csv("review.csv", index=False)
        exec(compile(block, "docs/audit.md", "exec"), scope)
    assert (tmp_path / "suspects.csv").is_file()
    assert "My images" in (tmp_path / "audit.html").read_text(encoding="utf-8")


EFFECT = re.compile(r"(-?[\d.]+)(?:\spoints)?\s\[(-?[\d.]+),\s(-?[\d.]+)\]")
TURNED = re.compile(r"\b(takes|costs?|lowers?|harms|below|ahead|loses|less)\b")


@pytest.mark.slow
def test_the_findings_are_those_of_the_published_studies(results_page):
    """Each effect with an interval is what the page of results says of a study that the paragraph names."""
    results = results_page.replace("\N{MINUS SIGN}", "-").replace("+", "")
    published = {path.name for path in (ROOT / "docs/results").iterdir() if path.is_dir()}
    of = {name: _said_of(name, results) for name in published}
    assert len(EFFECT.findall(FINDINGS)) >= 10
    for paragraph in FINDINGS.split("\n\n"):
        studies = set(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", paragraph))
        assert studies <= published, studies - published
        for sentence in re.split(r"\.\s", paragraph):
            for mean, low, high in EFFECT.findall(sentence):
                both = [f"{mean} [{low}, {high}]"]
                if TURNED.search(sentence):
                    both.append("{} [{}, {}]".format(*(f"{-float(x):.1f}" for x in (mean, high, low))))
                pattern = rf"(?<![\d.-])(?:{'|'.join(map(re.escape, both))})"
                said = any(re.search(pattern, of[study]) for study in studies)
                assert said or any(re.search(pattern, _gains_of(study)) for study in studies), (both, studies)


@pytest.mark.parametrize("page", ["README.md", "docs/findings.md", "docs/ideas"])
def test_what_was_chosen_on_correct_labels_and_shared_handwriting_are_said(page):
    """In each section that names a study with the mark, and in each page about an idea."""
    pages = sorted((ROOT / page).glob("*.md")) if (ROOT / page).is_dir() else [ROOT / page]
    named = 0
    for section in (each for path in pages for each in path.read_text(encoding="utf-8").split("\n## ")):
        for study in set(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", section)):
            file = ROOT / "pipelines/studies" / f"{study}.yaml"
            found = config.load_study(file) if file.is_file() else None
            for mark_ in {m for cell in found.cells() for m in caveats(found, cell)} if found else ():
                named += 1
                assert mark_ in section.lower(), (mark_, study, section.partition("\n")[0])
    assert named


def _said_of(study: str, results: str) -> str:
    """Its own section, its rows of the first table, and what stands between a mention of it and the mention before."""
    parts = re.split(r"\(`([\w-]+)`[:)]", results)  # text, name, text, name, ...
    mentioned = [text.rsplit("\n", 1)[-1] for text, name in itertools.pairwise(parts) if name == study]
    own = [section for section in results.split("\n### ") if f"`make repro STUDY={study}`: " in section]
    assert len(own) == 1
    rows = [
        line
        for line in FINDINGS.replace("\N{MINUS SIGN}", "-").replace("+", "").splitlines()
        if f"| `{study}` |" in line
    ]
    return "\n".join([*mentioned, *own, *rows])


@cache
def _gains_of(study: str) -> str:
    """What its trained methods gain over what is free, in every condition."""
    own, nowhere = config.load_study(ROOT / "pipelines/studies" / f"{study}.yaml"), Path("nowhere")
    found = load(own, nowhere, None, Snapshot(ROOT / "docs/results" / study))
    gains = [gain for one, same, _ in each_gain(found) for gain in (one, same) if gain is not None]
    return "\n".join(points(gain.gain).replace("\N{MINUS SIGN}", "-").replace("+", "") for gain in gains)


def test_the_architecture_names_what_exists():
    for path in re.findall(r"`((?:dml|tests|docs)/[\w/.-]+)`", ARCHITECTURE):
        assert (ROOT / path).exists(), path
    for name in re.findall(r"\| `([A-Z]\w+)` \|", ARCHITECTURE):
        assert hasattr(protocols, name), name
    folders = {path.strip("/").replace("/", ".") for path in re.findall(r"\| `(dml/[\w/]+/)` \|", ARCHITECTURE)}
    assert folders == set(discovery.KINDS)

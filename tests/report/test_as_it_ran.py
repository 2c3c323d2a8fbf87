"""Results say what ran: the study's file may have changed since, and gives the title, the claims and the report."""

import json
from pathlib import Path

import pandas as pd
import pytest

from dml.config import load_study
from dml.config.loading import ATTRIBUTE, record
from dml.report.assembly import study_page
from dml.report.claims import with_verdicts
from dml.report.loading import load
from dml.snapshots import Snapshot, publish

pytestmark = pytest.mark.slow

RAN = """
title: Before
datasets: [{name: digits, train_on: coarse}]
noise: [{name: uniform, rates: [0.0, 0.4]}]
losses: [triplet, {name: margin, settings: {beta: 1.2}}]
positives: [random, easy]
negatives: [random]
seeds: [0, 1, 2]
search: {sampler: tpe, trials: 2, stop: last}
training: {steps: 400}
evaluation: {metrics: [recall@1, nmi], every: 100}
compare:
  - {text: Easy is better., first: {positives: easy}, second: {positives: random}}
"""
LOSS = ("losses: [triplet", "losses: [contrastive, triplet")
MODES = ["here", "published"]


def study_of(folder: Path, *changes: tuple[str, str], more: str = ""):
    text = RAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "toys.yaml"
    path.write_text(text + more)
    return load_study(path)


def keeping(study):
    """The table with the study, as a sweep writes it."""

    def alter(frame: pd.DataFrame) -> pd.DataFrame:
        frame.attrs[ATTRIBUTE] = record(study)
        return frame

    return alter


@pytest.fixture(params=MODES)
def results(request, tmp_path, synthetic):
    """Reads the results of `RAN`, which ran here or is published, with another file of the study."""
    ran = study_of(tmp_path)
    synthetic.write(ran, tmp_path, keeping(ran))
    folder = tmp_path / "results/toys"
    publish(ran, folder, tmp_path / "published")

    def read(*changes: tuple[str, str], more: str = ""):
        today = study_of(tmp_path, *changes, more=more)
        if request.param == "here":
            return load(today, folder)
        return load(today, tmp_path / "nowhere", snapshot=Snapshot(tmp_path / "published/toys"))

    return read


def drawn(results, tmp_path):
    (found,) = with_verdicts([results])
    return study_page(found, tmp_path / "site"), found.verdicts


def test_a_loss_that_was_added_has_no_cells(results, tmp_path):
    added = results(LOSS, more="  - {text: New., first: {loss: contrastive}, second: {loss: triplet}}\n")
    assert {cell.loss.name for cell in added.cells.values()} == {"triplet", "margin"}
    assert not added.missing()
    assert added.origin.endswith(
        "The study has changed since; this page shows it as it ran. 4 cells of it have not run."
    )
    page, (verdict, new) = drawn(added, tmp_path)
    assert (verdict.claim.text, new.claim.text) == ("Easy is better.", "New.")
    assert verdict.effects
    assert "no cell of this study has loss 'contrastive'" in new.reason
    assert ("Cells", "8", "4 methods") in page.facts


def test_a_default_of_the_code_that_changed_does_not_change_what_ran(results, tmp_path, monkeypatch):
    """What a study leaves open is written down with its results."""
    ran = json.loads(record(study_of(tmp_path)))
    assert ran["training"]["embedding_size"] == 64
    assert ran["training"]["search"] == {
        "learning_rate": {"log_uniform": [1e-4, 1e-2]},
        "weight_decay": {"log_uniform": [1e-6, 1e-2]},
        "loss_learning_rate": "own",
    }
    monkeypatch.setattr("dml.config.recipes.SEARCHED", {})  # nothing is searched by default any more
    assert study_of(tmp_path).training.search == {}
    assert set(results().study.training.search) == {"learning_rate", "weight_decay", "loss_learning_rate"}


def test_cells_that_the_file_no_longer_has_are_left_out(results, tmp_path):
    fewer = results(("losses: [triplet, ", "losses: ["))
    assert {cell.loss.name for cell in fewer.cells.values()} == {"margin"}
    assert set(fewer.trials["cell"]) == set(fewer.cells)
    assert "4 cells that it no longer has are left out." in fewer.origin
    page, (verdict,) = drawn(fewer, tmp_path)
    assert ("Cells", "4", "2 methods") in page.facts
    assert verdict.effects
    assert "triplet" not in page.verdict.text
